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
    /// For a request that ended without an answer: 499 (never sent) if the client had gone, 503 if
    /// the server cut it.
    int status;
    /// Of the content, without head and framing, as it is sent: compressed, perhaps; 0 for HEAD.
    /// For an answer that broke off, about what had been handed to the stream; for a connection
    /// that is taken over, nothing.
    std::uint64_t bytes_sent;
    std::chrono::microseconds took;
    std::string_view protocol;      // "HTTP/1.1", "HTTP/2"
    const request* asked = nullptr; // null if it could not be read, or was not to be
};

/// What the sessions of a server share. Outlives them; called on their workers, perhaps at once on
/// several.
struct session_hooks {
    /// Called, if set, for every request that has been answered or cut. What it throws is passed to
    /// on_error.
    std::function<void(const access_entry&)> on_access;
    /// Called, if set, with what handlers throw.
    std::function<void(std::string_view message)> on_error;
    /// Called, if set, else on_error, for answers that are cut by no fault of their handlers: for
    /// files that change while they are sent.
    std::function<void(std::string_view message)> on_warning;
};

} // namespace rota::http
