#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include <rota/http/access_log.hpp>
#include <rota/http/trusted_proxies.hpp>
#include <rota/io/options.hpp>
#include <spdlog/common.h>

namespace rota_http {

/// Of HTTPS.
struct tls_settings {
    std::optional<std::uint16_t> port{};     ///< nothing: none is spoken
    std::vector<std::string> certificates{}; ///< as many as keys, at least one
    std::vector<std::string> keys{};
    std::string client_ca{};            ///< empty: no certificates of clients
    std::string ticket_keys{};          ///< empty: keys of its own
    std::string alt_svc{};              ///< of answers in clear; empty: none
    std::chrono::milliseconds watch{0}; ///< between two looks at the files; 0: none
    std::chrono::milliseconds handshake_timeout{10'000};
};

/// Of proxies in front.
struct proxy_settings {
    std::vector<std::string> trusted{}; ///< see rota::io::network_list
    rota::http::proxy_fields fields = rota::http::proxy_fields::either;
    bool protocol = false; ///< they speak the PROXY protocol
};

/// Of what is known of each request.
struct tracking_settings {
    std::string log_file{}; ///< empty: none
    rota::http::access_log_format log_format = rota::http::access_log_format::combined;
    bool request_ids = false;
    bool traces = false;
};

/// What the command line says.
struct settings {
    using milliseconds = std::chrono::milliseconds;

    std::string host = "127.0.0.1";
    std::uint16_t port = 8080;
    std::string unix_path{}; ///< empty: none
    std::string port_file{}; ///< empty: none

    tls_settings tls{};
    proxy_settings proxies{};

    std::vector<std::string> allowed_hosts{};   ///< see rota::http::guard
    std::string token_file{};                   ///< empty: no tokens
    std::vector<std::string> allowed_origins{}; ///< of pages that may open a WebSocket

    std::size_t workers = 0;     ///< 0: one for each core
    std::size_t workers_max = 0; ///< under load; 0: never more than `workers`
    rota::io::topology topology = rota::io::topology::automatic;
    rota::io::backend_kind backend = rota::io::backend_kind::automatic;

    std::size_t max_connections = 16'000;
    std::uint64_t max_body = 16'777'216;
    std::uint64_t max_message = 16'777'216; ///< of a WebSocket
    milliseconds ping_after{30'000};        ///< of a WebSocket's silence; 0: never
    std::uint64_t max_memory = 0;           ///< 0: three quarters of what there is
    milliseconds header_timeout{10'000};
    milliseconds body_timeout{300'000};
    milliseconds idle_timeout{60'000};
    milliseconds send_timeout{60'000};
    std::uint64_t send_rate_min = 240; ///< bytes a second; 0: none
    milliseconds drain_timeout{10'000};

    milliseconds stall_limit{1'000}; ///< 0: no reports

    std::string store = "sqlite:rota-jobs.db"; ///< see jobs::open_store()
    bool store_given = false;                  ///< on the command line
    std::size_t store_connections = 4;         ///< to a database
    milliseconds lease{30'000};
    std::size_t max_jobs = 10'000'000;

    spdlog::level::level_enum log_level = spdlog::level::info;
    bool access_log = false;
    tracking_settings tracking{};
    bool no_console = false;
    bool no_compress = false;
    bool no_http2 = false;
    std::string files{}; ///< the directory at /files/; empty: none
};

/// Reads the command line into `into`. Nothing if the program is to go on; else its exit code, and
/// why has been said: help and version on `out`, one line about what is wrong on `err`.
[[nodiscard]] std::optional<int> read_command_line(int argc, const char* const* argv,
                                                   settings& into, std::ostream& out,
                                                   std::ostream& err);

} // namespace rota_http
