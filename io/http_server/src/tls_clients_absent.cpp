// In place of tls_clients.cpp where TLS is not built.

#include "tls_clients.hpp"

#include <stdexcept>

namespace rota::io::tls {
class context {};
} // namespace rota::io::tls

namespace rota::http {

tls_clients::tls_clients(io::tls::server_options /*options*/,
                         std::chrono::milliseconds handshake_timeout, const server_limits& limits)
    : handshake_timeout_(handshake_timeout), drain_grace_(limits.drain_grace),
      linger_timeout_(limits.linger_timeout) {
    throw std::invalid_argument("this program was built without TLS: it needs OpenSSL 3 and the "
                                "Meson feature tls");
}

tls_clients::~tls_clients() = default;

void tls_clients::reload() {}
bool tls_clients::reload_changed() { return false; }

task<void> tls_clients::serve(io::connection* /*client*/, const protocols* /*by*/,
                              session_rest* /*rest*/, worker_counters* /*counters*/,
                              std::stop_token /*draining*/) {
    co_return;
}

} // namespace rota::http
