// The part of request_stream.hpp that writes content: as its producer brings it, and as it leaves.

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <rota/errors.hpp>

#include "request_stream.hpp"

namespace rota::http::h2 {
namespace {

/// Content that is streamed is copied up to this size; more stays where it is until it leaves.
constexpr std::size_t copied_content_max = 16'384;

/// Bytes of a file between ready() and take(), which follow each other. No frame has more.
thread_local std::array<char, 16'384> file_bytes;

} // namespace

// --- As it is brought ---

/// One that is empty leaves with its head, which needs no window.
void request_stream::begin_content(bool empty) {
    check_open();
    if (answer_ == nullptr)
        return;
    last_ = empty;
    submit(*answer_, !empty);
    answer_ = nullptr; // it has begun
}

bool request_stream::begin_piece(std::size_t size) {
    if (size == 0)
        return false;
    const auto length = begun_answer_->length();
    if (length && size > *length - written_)
        throw std::length_error("a response longer than announced");
    begin_content(false);
    written_ += size;
    return true;
}

/// Without the rest of it, what follows would look like content that it is not.
request_stream::begun_piece::~begun_piece() {
    of.drop_external();
    of.file_ = nullptr;
    if (!whole)
        of.give_up(error_code::internal_error);
}

/// Sends what there is. Where the length was announced, its last piece is known to be that, and
/// leaves with the end.
void request_stream::offer() {
    const bool announced = begun_answer_ != nullptr && begun_answer_->length() == written_;
    last_ = last_ || announced;
    place_.by.resume(id_);
    place_.on.flush();
}

task<void> request_stream::write(std::string_view piece) {
    if (!begin_piece(piece.size()))
        co_return;
    {
        begun_piece begun{*this};
        if (piece.size() > copied_content_max) {
            co_await wait_sent(0);
            co_await send_external(piece);
        } else {
            if (kept_from_ == kept_.size() || kept_from_ >= kept_bytes_max)
                kept_.erase(0, std::exchange(kept_from_, 0));
            kept_.append(piece);
            offer();
        }
        begun.whole = true;
    }
    if (unsent() > kept_bytes_max)
        co_await wait_sent(kept_bytes_low);
}

task<void> request_stream::write_owned(std::string piece) {
    if (piece.size() <= copied_content_max) {
        co_await write(piece);
        co_return;
    }
    if (!begin_piece(piece.size()))
        co_return;
    {
        begun_piece begun{*this};
        co_await wait_sent(0);
        kept_ = std::move(piece);
        kept_from_ = 0;
        offer();
        begun.whole = true;
    }
    if (unsent() > kept_bytes_max)
        co_await wait_sent(kept_bytes_low);
}

task<void> request_stream::write_shared(io::shared_bytes piece) {
    if (piece.size() <= copied_content_max) {
        co_await write(piece.view());
        co_return;
    }
    if (!begin_piece(piece.size()))
        co_return;
    begun_piece begun{*this};
    co_await wait_sent(0);
    shared_ = std::move(piece);
    co_await send_external(shared_.view());
    begun.whole = true;
}

/// It is read frame by frame, as the client's windows let them leave, so that a stream that waits
/// keeps none of it; only what is not in memory is fetched ahead.
task<void> request_stream::write_file(io::file_slice part) {
    constexpr std::size_t fetched_bytes = 65'536;
    if (!begin_piece(part.size))
        co_return;
    begun_piece begun{*this};
    co_await wait_sent(0);
    // cppcheck-suppress danglingLifetime ; until `begun` ends
    file_ = &part;
    file_error_ = 0;
    for (;;) {
        offer();
        while (part.size > 0 && file_error_ == 0) {
            check_open();
            signal::awaiter taken = room_.wait("a window to send in");
            co_await taken;
        }
        check_open();
        if (part.size == 0) {
            begun.whole = true;
            co_return;
        }
        if (file_error_ != EAGAIN)
            throw std::system_error(file_error_, std::system_category(), "reading a file");
        std::string piece = co_await io::read_piece(&part, fetched_bytes);
        kept_ = std::move(piece);
        kept_from_ = 0;
        file_error_ = 0;
    }
}

task<void> request_stream::flush() {
    begin_content(begun_answer_->length() == 0);
    place_.on.flush();
    co_await wait_sent(0);
    co_await place_.on.flush_wire();
}

void request_stream::add_trailer(std::string_view name, std::string_view value) {
    trailers_.add(name, value);
    if (begun_answer_->length())
        trailers_ = {}; // it was right, and has no place
}

void request_stream::end_content() {
    const auto length = begun_answer_->length();
    if (length && written_ != *length)
        throw std::length_error("a response shorter than announced");
    begin_content(trailers_.empty());
    last_ = true;
    place_.by.resume(id_);
    place_.on.flush();
}

/// Waits until no more than so much is left.
task<void> request_stream::wait_sent(std::size_t left_max, io::deadline until) {
    while (unsent() > left_max) {
        check_open();
        signal::awaiter taken = room_.wait("a window to send in", until);
        const bool some = co_await taken;
        if (!some)
            throw timed_out();
    }
    check_open();
}

/// The bytes are where they are until all of them have left.
task<void> request_stream::send_external(std::string_view bytes) {
    external_ = bytes;
    offer();
    while (!external_.empty()) {
        check_open();
        signal::awaiter taken = room_.wait("a window to send in");
        co_await taken;
    }
}

// --- As it leaves ---

engine_stream::content request_stream::ready(std::size_t bytes_max) noexcept {
    const std::size_t kept = kept_.size() - kept_from_;
    engine_stream::content there;
    if (kept > 0)
        there.bytes = kept;
    else
        there.bytes = file_ != nullptr ? read_file(bytes_max) : external_.size();
    there.last = last_ && there.bytes == unsent();
    if (there.last && !trailers_.empty())
        there.trailers = &trailers_;
    return there;
}

engine_stream::slice request_stream::take(std::size_t bytes) noexcept {
    engine_stream::slice taken;
    if (kept_from_ < kept_.size()) {
        taken.bytes = std::string_view(kept_).substr(kept_from_, bytes);
        kept_from_ += bytes;
    } else if (file_ != nullptr) {
        taken.bytes = std::string_view(file_bytes.data(), bytes);
        file_->offset += bytes;
        file_->size -= bytes;
    } else {
        taken = {external_.substr(0, bytes), shared_.size() != 0 ? &shared_ : nullptr};
        external_.remove_prefix(bytes);
    }
    content_sent_ += bytes;
    if (unsent() <= kept_bytes_low)
        room_.notify();
    return taken;
}

/// How much of it can leave at once.
std::size_t request_stream::read_file(std::size_t bytes_max) noexcept {
    if (file_error_ != 0)
        return 0;
    const std::span<char> into(file_bytes);
    const ssize_t got = io::try_read(*file_, into.first(std::min(bytes_max, into.size())));
    if (got >= 0)
        return static_cast<std::size_t>(got);
    file_error_ = static_cast<int>(-got);
    room_.notify();
    return 0;
}

} // namespace rota::http::h2
