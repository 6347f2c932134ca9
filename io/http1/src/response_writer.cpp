#include "response_writer.hpp"

#include <stdexcept>
#include <system_error>
#include <utility>

#include <rota/http/chunked.hpp>
#include <rota/http/error.hpp>

namespace rota::http {
namespace {

/// Pieces up to this size are copied into one buffer with their framing; larger ones are handed
/// over as they are.
constexpr std::size_t copied_piece_max = 16'384;

} // namespace

void response_writer::begin() {
    if (started_)
        return;
    started_ = true; // even if it throws: half a head may be there
    append_head(wire_.pending(), answer_, policy_.begin_answer(answer_, framing_), framing_);
}

/// What was given up may have left, and would leave again.
void response_writer::require_whole() const {
    if (torn_)
        throw std::logic_error("a response goes on behind a write that was given up");
    require_client();
}

/// What is queued counts as sent, so nothing is for a client that has gone.
void response_writer::require_client() const {
    if (wire_.broken())
        throw std::system_error(std::make_error_code(std::errc::connection_reset));
}

/// Appends what goes before a piece. False if there is nothing to send.
bool response_writer::begin_piece(std::uint64_t size) {
    require_whole();
    if (size == 0)
        return false;
    if (framing_ == content_framing::sized && size > *answer_.length() - written_) {
        throw std::length_error("a response longer than announced");
    }
    begin();
    torn_ = true;
    written_ += size;
    if (framing_ == content_framing::chunked)
        append_chunk_size(wire_.pending(), size);
    return true;
}

void response_writer::end_piece() {
    if (framing_ == content_framing::chunked)
        wire_.pending().append("\r\n");
}

task<void> response_writer::write(std::string_view piece) {
    if (!begin_piece(piece.size()))
        co_return;
    if (piece.size() <= copied_piece_max) {
        wire_.pending().append(std::string_view(piece));
    } else {
        co_await wire_.send(piece);
    }
    end_piece();
    if (!wire_.try_send())
        co_await wire_.send();
    torn_ = false;
}

task<void> response_writer::write_owned(std::string piece) {
    if (!begin_piece(piece.size()))
        co_return;
    if (piece.size() <= copied_piece_max) {
        wire_.pending().append(std::string_view(piece));
    } else {
        co_await wire_.send_owned(std::move(piece));
    }
    end_piece();
    if (!wire_.try_send())
        co_await wire_.send();
    torn_ = false;
}

task<void> response_writer::write_shared(io::shared_bytes piece) {
    if (!begin_piece(piece.size()))
        co_return;
    if (piece.size() <= copied_piece_max) {
        wire_.pending().append(piece.view());
    } else if (!wire_.try_send_shared(piece)) {
        co_await wire_.send_shared(std::move(piece));
    }
    end_piece();
    if (!wire_.try_send())
        co_await wire_.send();
    torn_ = false;
}

task<void> response_writer::write_file(io::file_slice part) {
    if (!begin_piece(part.size))
        co_return;
    if (!wire_.try_send_file(part))
        co_await wire_.send_file(&part);
    end_piece();
    torn_ = false;
}

task<void> response_writer::flush() {
    require_whole();
    begin();
    if (!wire_.try_send()) {
        torn_ = true;
        co_await wire_.send();
        torn_ = false;
    }
    co_await wire_.flush();
}

void response_writer::add_trailer(std::string_view name, std::string_view value) {
    trailers_.add(name, value);
}

task<std::exception_ptr> response_writer::run(body_producer* producer) {
    try {
        co_await rota::detail::returned((*producer)(*this));
        finish();
    } catch (...) {
        co_return std::current_exception();
    }
    co_return nullptr;
}

/// The end of the content. Throws std::length_error if it is shorter than announced.
void response_writer::finish() {
    require_client();
    if (torn_) // it was given up on purpose: the client is told by the cut, nobody else
        throw http_error(503, "the answer takes too long");
    if (framing_ == content_framing::sized && written_ != answer_.length()) {
        throw std::length_error("a response shorter than announced");
    }
    begin();
    if (framing_ == content_framing::chunked)
        append_last_chunk(wire_.pending(), trailers_);
}

} // namespace rota::http
