#include "coding_writer.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <utility>

#include <rota/blocking.hpp>
#include <rota/http/error.hpp>

namespace rota::http {
namespace {

/// So much goes on at a time: what an HTTP/1 writer copies behind its framing.
constexpr std::size_t room_max = 16'384;
/// More than the end, and a flush, of any format takes.
constexpr std::size_t room_min = 128;
/// So much is compressed by one call of blocking().
constexpr std::size_t slice_max = 131'072;

} // namespace

/// As much of `piece` as fills the room.
coding_writer::part coding_writer::encode(std::string_view piece, std::size_t room,
                                          coding::flush how) {
    part made;
    made.coded.resize(std::min(piece.size() + room_min, room));
    const coding::encoder::result step = encoder_.encode(piece, made.coded, how);
    made.coded.resize(step.written);
    made.read = step.read;
    made.done = step.done;
    return made;
}

void coding_writer::require_whole() const {
    if (torn_)
        throw std::logic_error("a response goes on behind a write that was given up");
}

task<void> coding_writer::put(std::string_view piece, coding::flush how) {
    torn_ = true; // unless all of it has gone on
    for (bool done = false; !done;) {
        const std::string_view slice = piece.substr(0, slice_max);
        const bool last = slice.size() == piece.size();
        const coding::flush now = last ? how : coding::flush::none;
        part made;
        if (slice.size() >= blocking_bytes_) {
            auto work = [this, slice, now] { return encode(slice, slice_max, now); };
            const semaphore::permit place = co_await places_.acquire();
            made = co_await blocking(std::ref(work));
        } else {
            made = encode(slice, room_max, now);
        }
        piece.remove_prefix(made.read);
        done = last && made.done;
        if (!made.coded.empty())
            co_await to_.write_owned(std::move(made.coded));
    }
    torn_ = false;
}

task<void> coding_writer::write(std::string_view piece) {
    require_whole();
    if (piece.empty())
        co_return;
    if (left_ && piece.size() > *left_)
        throw std::length_error("a response longer than announced");
    if (left_)
        *left_ -= piece.size();
    ended_ = left_ == 0;
    const coding::flush how = ended_ ? coding::flush::end : coding::flush::sync;
    co_await put(piece, how);
}

task<void> coding_writer::write_owned(std::string piece) {
    co_await write(std::string_view(piece));
}

task<void> coding_writer::flush() {
    require_whole();
    co_await to_.flush(); // what was written is out
}

void coding_writer::add_trailer(std::string_view name, std::string_view value) {
    to_.add_trailer(name, value);
}

task<void> coding_writer::end() {
    if (torn_) // it was given up on purpose: the client is told by the cut, nobody else
        throw http_error(503, "the answer takes too long");
    if (left_ && *left_ != 0)
        throw std::length_error("a response shorter than announced");
    if (!std::exchange(ended_, true))
        co_await put("", coding::flush::end);
}

} // namespace rota::http
