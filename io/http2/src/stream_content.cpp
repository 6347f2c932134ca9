#include "stream_content.hpp"

#include <algorithm>
#include <limits>
#include <system_error>
#include <utility>

#include <rota/errors.hpp>
#include <rota/http/error.hpp>

namespace rota::http::h2 {
namespace {

constexpr std::chrono::steady_clock::duration look_again_after = std::chrono::seconds(1);

} // namespace

void stream_content::begin(std::int32_t id, bool more) noexcept {
    id_ = id;
    most_ = limits_.parser.body_bytes_max;
    handed_out_ = received_ = dropped_ = 0;
    shown_from_ = 0;
    pace_ = {};
    ended_ = !more;
    limited_ = lost_ = dropping_ = asked_ = too_late_ = failed_ = widened_ = false;
}

std::optional<std::uint64_t> stream_content::length() const noexcept {
    if (!fields_.head().has_content_length)
        return std::nullopt;
    return fields_.head().content_length;
}

header_list stream_content::trailers() const noexcept {
    static const std::vector<field_span> none;
    return ended_ && arrived_.empty() ? fields_.trailers() : header_list(nullptr, none);
}

void stream_content::limit(std::uint64_t bytes) {
    constexpr auto max = std::numeric_limits<std::uint64_t>::max();
    limited_ = true;
    most_ = std::min(most_, bytes < max - handed_out_ ? handed_out_ + bytes : max);
    if (length().value_or(0) <= most_)
        return;
    failed_ = true;
    throw http_error(413, "content too large");
}

// --- What happens to it ---

void stream_content::open_windows(std::size_t bytes) {
    if (bytes == 0)
        return;
    if (lost_) {
        engine_.consumed(bytes);
        return;
    }
    engine_.consumed(id_, bytes);
    if (!ended_ && !dropping_ && !std::exchange(widened_, true))
        engine_.widen(id_);
}

void stream_content::arrive(std::string_view piece) {
    received_ += piece.size();
    if (!dropping_) {
        arrived_.append(piece);
        arrival_.notify();
        return;
    }
    dropped_ += piece.size();
    // Beyond the bound the window of the stream stays shut.
    if (dropped_ <= limits_.linger_bytes_max)
        open_windows(piece.size());
    else
        engine_.consumed(piece.size());
}

void stream_content::end() noexcept {
    ended_ = true;
    arrival_.notify();
}

void stream_content::lose() noexcept {
    lost_ = true;
    arrival_.notify();
}

void stream_content::drop_rest() {
    if (dropping_)
        return;
    dropping_ = true;
    const std::size_t size = arrived_.size();
    arrived_.clear();
    dropped_ += size;
    if (dropped_ <= limits_.linger_bytes_max)
        open_windows(size);
    else if (size > 0)
        engine_.consumed(size);
}

bool stream_content::too_much_to_drop() const noexcept {
    return dropped_ > limits_.linger_bytes_max || continue_owed();
}

bool stream_content::continue_owed() const noexcept {
    return fields_.head().expects_continue && !asked_ && received_ == 0;
}

// --- Reading ---

task<std::string_view> stream_content::read() {
    if (failed_)
        throw http_error(400, "the content could not be read");
    shown_.clear();
    while (arrived_.empty()) {
        if (lost_)
            throw std::system_error(std::make_error_code(std::errc::connection_reset));
        if (ended_) {
            if (!fields_.too_many_trailers())
                co_return std::string_view();
            failed_ = true;
            throw http_error(431, "trailer section too large");
        }
        if (continue_owed() && !too_late_)
            engine_.invite(id_);
        asked_ = asked_ || !too_late_;
        co_await wait();
    }
    if (arrived_.size() > most_ - handed_out_) {
        failed_ = true;
        throw http_error(413, "content too large");
    }
    shown_.swap(arrived_);
    handed_out_ += shown_.size();
    pace_.came(shown_.size());
    open_windows(shown_.size());
    sender_.flush();
    co_return std::string_view(shown_);
}

/// A wait that is given up has taken nothing, and can be repeated; its time counts, but for what
/// the client may not send.
task<void> stream_content::wait() {
    sender_.flush();
    bool came = false;
    while (!came) {
        bool kept_back = engine_.keeps_back();
        const auto start = home_.now();
        auto limit =
            pace_.left(limits_.body_grace, limits_.body_rate_min_bytes_per_s, limits_.body_timeout);
        if (kept_back)
            limit = std::max<content_pace::duration>(limit, look_again_after);
        signal::awaiter coming = arrival_.wait("the content of a request", start + limit);
        try {
            came = co_await coming;
        } catch (const operation_cancelled&) {
            pace_.waited(home_.now() - start);
            throw;
        }
        kept_back |= engine_.keeps_back();
        if (!came && !kept_back) {
            failed_ = true;
            throw http_error(408, "the content comes too slowly");
        }
        if (!kept_back)
            pace_.waited(home_.now() - start);
    }
}

// --- For another protocol ---

void stream_content::consume(std::size_t bytes) noexcept {
    shown_from_ += bytes;
    if (shown_from_ == shown_.size()) {
        shown_.clear();
        shown_from_ = 0;
    }
}

void stream_content::show_more() {
    const std::size_t size = arrived_.size();
    shown_.erase(0, std::exchange(shown_from_, 0));
    if (shown_.empty())
        shown_.swap(arrived_);
    else
        shown_.append(arrived_);
    arrived_.clear();
    open_windows(size);
    sender_.flush();
}

task<void> stream_content::wait_more(io::deadline until) {
    while (arrived_.empty() && !ended_ && !lost_) {
        signal::awaiter coming = arrival_.wait("bytes of a stream", until);
        const bool came = co_await coming;
        if (!came)
            throw timed_out();
    }
}

} // namespace rota::http::h2
