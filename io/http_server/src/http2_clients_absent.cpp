// In place of http2_clients.cpp where HTTP/2 is not built.

#include "http2_clients.hpp"

#include <stdexcept>

#include <rota/http/server.hpp>

namespace rota::http {

bool has_http2() noexcept { return false; }

task<void> serve_http2_client(io::stream* /*client*/, const router* /*routes*/,
                              const server_limits* /*limits*/, session_control /*control*/,
                              bool /*first_line_read*/) {
    throw std::logic_error("this program was built without HTTP/2: it needs nghttp2 and the Meson "
                           "feature http2");
}

} // namespace rota::http
