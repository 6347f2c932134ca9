#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>

namespace rota::http {

class request;

/// One answered request, for an access log. Views live during the call.
struct access_entry {
    std::string_view peer;
    std::string_view method; // empty, as target, if the request line could not be read
    std::string_view target;
    /// Of a request that ended unanswered 499, which nobody is sent, if its client was gone, or 503
    /// if the server cut it.
    int status;
    /// Of the content, without head and framing, as it is sent: compressed, perhaps; 0 for HEAD. Of
    /// an answer that broke off about what had been handed to the stream; of a connection that is
    /// taken over nothing.
    std::uint64_t bytes_sent;
    std::chrono::microseconds took;
    std::string_view protocol;      // "HTTP/1.1", "HTTP/2"
    const request* asked = nullptr; // null if it could not be read, or was not to be
};

/// What the sessions of a server share. Outlives them; called on their workers, perhaps at once on
/// several.
struct session_hooks {
    /// Told of every request that has been answered or cut, if it is set. What it throws is told to
    /// on_error.
    std::function<void(const access_entry&)> on_access;
    /// Told of what handlers throw, if it is set.
    std::function<void(std::string_view message)> on_error;
    /// Told of answers that are cut by no fault of their handlers, if it is set; else on_error is:
    /// of files that change while they are sent.
    std::function<void(std::string_view message)> on_warning;
};

} // namespace rota::http
