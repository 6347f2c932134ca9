#include "decoding_reader.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <stdexcept>
#include <utility>

#include <rota/blocking.hpp>
#include <rota/errors.hpp>
#include <rota/http/detail/request_access.hpp>
#include <rota/http/error.hpp>
#include <rota/yield.hpp>

namespace rota::http {
namespace {

constexpr std::size_t room_bytes = 16'384;
/// About half a millisecond.
constexpr std::size_t work_max = 131'072;
/// What a decoder may hold without a share of the budget.
constexpr std::size_t free_memory = 65'536;

/// How long a content of `bytes` may become by being compressed.
std::uint64_t longest_coded(std::uint64_t bytes) noexcept {
    constexpr std::uint64_t fixed = 65'536;
    constexpr auto most = std::numeric_limits<std::uint64_t>::max();
    return bytes < most / 2 - fixed ? bytes + bytes / 8 + fixed : most;
}

/// Whether contents may be several, one behind the other, in one.
bool may_repeat(coding::format each) noexcept {
    return each == coding::format::gzip || each == coding::format::zstd;
}

} // namespace

decoding_reader::decoding_reader(request& of, std::vector<coding::format> applied,
                                 std::uint64_t bytes_max, memory_budget& budget, semaphore& places)
    : of_(of), raw_(of.body()), applied_(std::move(applied)),
      bytes_max_(std::min(bytes_max, raw_.allowed())), memory_(&budget), places_(places) {
    request_access::exchange_body(of, this);
}

decoding_reader::~decoding_reader() { request_access::exchange_body(of_, &raw_); }

void decoding_reader::limit(std::uint64_t bytes) {
    constexpr auto most = std::numeric_limits<std::uint64_t>::max();
    const std::uint64_t given = stages_.empty() ? 0 : stages_.back().total;
    bytes_max_ = std::min(bytes_max_, bytes < most - given ? given + bytes : most);
    const bool begun = !stages_.empty();
    if (!begun) // what is behind a part of it cannot be told
        raw_.limit(longest_coded(bytes_max_));
}

std::uint64_t decoding_reader::allowed() const noexcept {
    return bytes_max_ - (stages_.empty() ? 0 : stages_.back().total);
}

/// At the first read: what is not read costs nothing.
void decoding_reader::make_stages() {
    raw_.limit(longest_coded(bytes_max_));
    for (auto at = applied_.rbegin(); at != applied_.rend(); ++at) {
        stage& added = stages_.emplace_back();
        added.decoder = coding::make_decoder({.from = *at});
        added.room.resize(room_bytes);
    }
    account();
}

task<std::string_view> decoding_reader::read() {
    if (reading_)
        throw std::logic_error("two coroutines read one content");
    struct reading {
        bool& is;
        ~reading() { is = false; }
    } const at_end{reading_};
    reading_ = true;
    if (std::exchange(failed_, true)) // unless it ends well
        throw http_error(400, "the content could not be read");
    if (stages_.empty())
        make_stages();
    stage& last = stages_.back();
    last.made = {};
    while (last.made.empty()) {
        const progress now = advance(stages_.size() - 1);
        if (now == progress::ended)
            break;
        if (now == progress::tired) {
            work_ = 0;
            co_await yield();
            continue;
        }
        try {
            if (now == progress::slow)
                co_await decode_elsewhere(slow_);
            else if (now == progress::wants_raw)
                co_await fetch();
        } catch (const operation_cancelled&) { // nothing has been taken: it can go on there
            failed_ = false;
            throw;
        }
    }
    failed_ = false;
    co_return last.made;
}

task<void> decoding_reader::fetch() {
    raw_piece_ = co_await raw_.read();
    raw_ended_ = raw_piece_.empty();
}

/// A flood of them takes few of the threads that all share.
task<void> decoding_reader::decode_elsewhere(std::size_t index) {
    stage* const s = &stages_[index];
    const std::string_view in = input_of(index);
    auto work = [s, in] { return s->decoder->decode(in, s->room); };
    const semaphore::permit place = co_await places_.acquire();
    const coding::decoder::result step = co_await blocking(std::ref(work));
    take(index, step);
}

std::string_view& decoding_reader::input_of(std::size_t index) noexcept {
    return index == 0 ? raw_piece_ : stages_[index - 1].made;
}

/// Has one stage make something. Throws http_error.
decoding_reader::progress decoding_reader::advance(std::size_t index) {
    stage& s = stages_[index];
    std::string_view& in = input_of(index);
    for (;;) {
        if (work_ >= work_max)
            return progress::tired;
        if (in.empty() && !s.may_have_more) {
            progress before = progress::ended;
            if (index > 0)
                before = advance(index - 1);
            else if (!raw_ended_)
                before = progress::wants_raw;
            if (before == progress::made)
                continue;
            if (before == progress::ended && !s.ended)
                throw http_error(400, "the compressed content is cut short");
            return before;
        }
        if (s.ended && !may_repeat(s.decoder->from()))
            throw http_error(400, "there is something behind the compressed content");
        if (std::exchange(s.ended, false))
            s.decoder->reset();
        if (s.decoder->may_take_long()) {
            slow_ = index;
            return progress::slow;
        }
        take(index, s.decoder->decode(in, s.room));
        if (!s.made.empty())
            return progress::made;
    }
}

void decoding_reader::take(std::size_t index, const coding::decoder::result& step) {
    stage& s = stages_[index];
    std::string_view& in = input_of(index);
    const bool idle = step.read == 0 && step.written == 0 && !in.empty();
    const bool went_on = step.now != coding::decoder::state::more || !idle;
    if (step.now == coding::decoder::state::corrupt || !went_on) {
        if (s.decoder->from() == coding::format::zstd) // which does not say which
            throw http_error(400, "the zstd content is broken, or needs a window above 8 MiB");
        throw http_error(400, "the compressed content is broken");
    }
    in.remove_prefix(step.read);
    s.made = std::string_view(s.room).substr(0, step.written);
    s.total += step.written;
    s.ended = step.now == coding::decoder::state::ended;
    const bool drained = step.read == 0 && step.written > 0;
    s.may_have_more = !s.ended && (drained || step.written == s.room.size());
    work_ += step.read + step.written;
    const bool last = index + 1 == stages_.size();
    if (s.total > (last ? bytes_max_ : longest_coded(bytes_max_)))
        throw http_error(413, "the decoded content is too large");
    account();
}

/// Throws http_error if the decoders hold more than there is.
void decoding_reader::account() {
    std::size_t held = 0;
    for (const stage& each : stages_) {
        const std::size_t memory = each.decoder->memory();
        held += memory > free_memory ? memory - free_memory : 0;
    }
    if (!memory_.reach(held))
        throw http_error(503, "the server has no room for what it would take to decode this");
}

} // namespace rota::http
