#include "http2_clients.hpp"

#include <utility>

#include <rota/http/serve_http2.hpp>
#include <rota/http/server.hpp>

namespace rota::http {

bool has_http2() noexcept { return true; }

task<void> serve_http2_client(io::stream* client, const router* routes, const server_limits* limits,
                              session_control control, bool first_line_read) {
    const std::string_view begun = first_line_read ? http2_first_line : std::string_view();
    return serve_http2(client, routes, limits, std::move(control), begun);
}

} // namespace rota::http
