#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string_view>

#include <rota/http/limits.hpp>
#include <rota/http/metrics.hpp>
#include <rota/http/serve_connection.hpp>
#include <rota/io/connection.hpp>
#include <rota/io/tls/options.hpp>
#include <rota/task.hpp>

namespace rota::io::tls {
class context;
class stream;
} // namespace rota::io::tls

namespace rota::http {

/// What is done with clients that come by TLS before HTTP, and between its sessions. Any thread.
/// Without TLS in the build it cannot be made.
class tls_clients {
public:
    /// A client that has agreed on everything.
    struct secured {
        io::stream* client;
        const io::tls::stream* tls; ///< the same
        std::string_view protocol;  ///< as ALPN names it; empty if the client did not say
        std::function<bool(std::string_view host)> misdirected; ///< see session_control
        session_rest* rest;
    };
    /// Serves one. Where it ends in order to rest it is called again for what comes next.
    using protocols = std::function<task<void>(const secured*)>;

    /// Throws std::runtime_error for files that cannot be used, and std::invalid_argument.
    tls_clients(io::tls::server_options options, std::chrono::milliseconds handshake_timeout,
                const server_limits& limits);
    ~tls_clients();
    tls_clients(const tls_clients&) = delete;
    tls_clients& operator=(const tls_clients&) = delete;

    /// Reads the files again. Throws std::runtime_error, with nothing changed.
    void reload();
    bool reload_changed();

    /// One client, from the accept to its end. A session that rested leaves with
    /// session_rest::wanted set if nobody resumes it: its caller counts it off. All that is pointed
    /// to outlives the task, as this does; `counters` are those of the client's worker.
    [[nodiscard]] task<void> serve(io::connection* client, const protocols* by, session_rest* rest,
                                   worker_counters* counters, std::stop_token draining);

private:
    const std::unique_ptr<io::tls::context> context_;
    const std::chrono::milliseconds handshake_timeout_;
    const std::chrono::milliseconds drain_grace_;
    const std::chrono::milliseconds linger_timeout_;
};

} // namespace rota::http
