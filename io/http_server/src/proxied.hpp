#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>

#include <rota/http/limits.hpp>
#include <rota/io/connection.hpp>
#include <rota/task.hpp>

namespace rota::http {

/// Reads the PROXY header that a connection of a proxy's begins with, within the time that the head
/// of a request has. Returns whom it is for, as request::peer() says it; nothing if the connection
/// is over: it ended, was late, or had no header, and has been told so where it spoke HTTP. Throws
/// std::system_error where the connection fails. `client` and `limits` outlive the task.
[[nodiscard]] task<std::optional<std::string>>
proxied_peer(io::connection* client, const server_limits* limits, std::stop_token draining);

} // namespace rota::http
