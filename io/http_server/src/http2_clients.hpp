#pragma once

#include <string_view>

#include <rota/http/limits.hpp>
#include <rota/http/router.hpp>
#include <rota/http/session_control.hpp>
#include <rota/io/stream.hpp>
#include <rota/task.hpp>

namespace rota::http {

/// serve_http2(), where it is built in: else it is not to be called. `first_line_read`: of the
/// client's preface, by HTTP/1.1, and the client is counted.
[[nodiscard]] task<void> serve_http2_client(io::stream* client, const router* routes,
                                            const server_limits* limits, session_control control,
                                            bool first_line_read);

} // namespace rota::http
