#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <rota/http/detail/memory_budget.hpp>
#include <rota/http/request_head.hpp>
#include <rota/io/shared_bytes.hpp>
#include <rota/io/shared_file.hpp>
#include <rota/task.hpp>

namespace rota::http {

/// The content of a request, taken off the connection as the handler asks for it: what is not asked
/// for is held back at the client, which is the back-pressure. Belongs to the request; used by its
/// handler only.
///
/// The first read also answers "Expect: 100-continue". Reading throws http_error for content that
/// is malformed, too large or too slow, std::system_error when the client is gone,
/// operation_cancelled on stop. A read that is given up while it waits for the client, as by a
/// timeout around it, has taken nothing: the next one continues there, and the time that it has
/// waited counts as the client's. After any other failure nothing can be read.
class body_reader {
public:
    /// Returns the next piece; an empty one at the end, and in later calls. Valid until the next
    /// call.
    virtual task<std::string_view> read() = 0;
    /// Limits what the handler takes of the rest to `bytes`: http_error(413) as soon as more is
    /// announced, here by the length, in read() by the size of a chunk. The server's own limit
    /// holds anyway.
    virtual void limit(std::uint64_t bytes) = 0;
    /// Returns how much of what limit() allowed is left: the greatest number if it has not been
    /// called. What decodes the content keeps within it, too.
    [[nodiscard]] virtual std::uint64_t allowed() const noexcept {
        return std::numeric_limits<std::uint64_t>::max();
    }
    /// Returns what is left, whole. Throws http_error(413) for more than `bytes_max`, as soon as it
    /// is announced. If it is given up, what it had so far is lost.
    task<std::string> read_all(std::size_t bytes_max = std::numeric_limits<std::size_t>::max());
    /// Accounts for `bytes` of content in all that are kept until the request ends: beyond 16 KiB
    /// they are taken from server_options::content_memory_bytes_max. Call when they are kept, or
    /// are about to be. Throws http_error(503) if that is used up. read_all() and what reads a form
    /// or JSON whole call it.
    virtual void keep(std::uint64_t bytes);
    /// Returns the length that the client announced, if it did.
    [[nodiscard]] virtual std::optional<std::uint64_t> length() const noexcept = 0;
    /// Returns the trailer fields; empty before the end of the content.
    [[nodiscard]] virtual header_list trailers() const noexcept = 0;

protected:
    /// `memory`, if not null, outlives it.
    explicit body_reader(memory_budget* memory = nullptr) noexcept : kept_(memory) {}
    ~body_reader() = default;
    /// Gives back what was accounted for, when the handler has ended.
    void keep_nothing() noexcept { kept_.give_back(); }

private:
    memory_budget::share kept_;
};

/// Where a streaming response puts its content. Belongs to the session; used by the producer only.
class body_writer {
public:
    /// Sends a piece; suspends while the client is slower than the handler. An empty piece sends
    /// nothing. Throws std::system_error when the client is gone, std::length_error beyond a length
    /// that was announced. If a write is given up, as by a timeout around it, it is not known how
    /// much has left: over HTTP/1.1 what follows throws std::logic_error, and the answer is cut.
    virtual task<void> write(std::string_view piece) = 0;
    /// Does what write() does, but takes over the string instead of copying it.
    virtual task<void> write_owned(std::string piece) = 0;
    /// Does what write() does, with bytes that others may share: in clear a large piece goes to the
    /// socket from where it is.
    virtual task<void> write_shared(io::shared_bytes piece);
    /// Does what write() does, with bytes of a file: in clear HTTP/1.1 without a copy in user
    /// space, else in pieces. Throws std::system_error (ESTALE) if the file has changed.
    virtual task<void> write_file(io::file_slice part);
    /// Waits until what was written has been handed to the kernel.
    virtual task<void> flush() = 0;
    /// Adds a field to follow the content, if that is chunked (not in HTTP/1.0, nor with an
    /// announced length: then the field is dropped). Throws std::invalid_argument as headers::add()
    /// does.
    virtual void add_trailer(std::string_view name, std::string_view value) = 0;

protected:
    ~body_writer() = default;
};

/// Writes a response's content. May be a coroutine lambda with captures: the response that holds it
/// lives until the producer has ended.
using body_producer = std::move_only_function<task<void>(body_writer&)>;

} // namespace rota::http
