#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <rota/http/hooks.hpp>

namespace rota::http {

enum class access_log_format : std::uint8_t {
    /// As in Apache and nginx: address, "-", user, time, "request line", status, bytes, "Referer",
    /// "User-Agent".
    combined,
    /// An object for each request, with what `combined` has no place for: how long it took, route,
    /// host, scheme, request id, trace.
    json,
};

struct access_log_options {
    /// Appended to; created if need be, readable by its owner and group. A pipe needs a reader.
    std::string path{};
    access_log_format format = access_log_format::combined;
    /// How much may wait to be written. Lines for which there is no room are dropped and counted.
    std::size_t memory_bytes_max = 4'194'304;
    /// Each field that a client has sent is cut after this many bytes.
    std::size_t field_bytes_max = 2'048;
    /// Called with one line about lines that were lost, or a file that cannot be opened or written;
    /// on the thread that writes. By default it is written to stderr.
    std::function<void(std::string_view)> report{};
};

/// Writes a line for each answered request to a file, on a thread of its own: a slow disk costs
/// lines, and no client waits for it.
///
/// A connection that ends before it has asked anything is not a request, and has no line: one
/// without the PROXY header that it needs, one in clear where TLS is spoken (both are told so by a
/// 400), one whose handshake fails.
///
/// What a client has sent cannot become a line or a field of its own: control bytes, quotes,
/// backslashes and, in combined, everything that is not ASCII are escaped, as in Apache's log.
/// Lines of one worker are in order; they are in the file within 200 ms. Bytes are those of the
/// content.
///
///     auto log = std::make_shared<access_log>(access_log_options{.path = "access.log"});
///     options.hooks.on_access = access_log::hook(log);
///
/// Any thread; takes no signals. The destructor writes what waits; a pipe that is not read has a
/// second to take it.
class access_log {
public:
    /// Throws std::system_error, with the path, if the file cannot be opened.
    explicit access_log(access_log_options options);
    ~access_log();
    access_log(const access_log&) = delete;
    access_log& operator=(const access_log&) = delete;

    /// Queues a line. Never waits for the file.
    void write(const access_entry& entry);
    /// Has the file reopened before more is written, as when it was renamed (logrotate). Until that
    /// is possible the old one is written to. Returns at once.
    void reopen() noexcept;

    struct counts {
        std::uint64_t written = 0; ///< lines
        std::uint64_t dropped = 0; ///< for which there was no room
        std::uint64_t failed = 0;  ///< that could not be written
    };
    [[nodiscard]] counts counted() const noexcept;

    /// Returns the function for session_hooks::on_access.
    [[nodiscard]] static std::function<void(const access_entry&)>
    hook(std::shared_ptr<access_log> self);

private:
    class writer;
    const access_log_options options_;
    const std::unique_ptr<writer> writer_;
};

} // namespace rota::http
