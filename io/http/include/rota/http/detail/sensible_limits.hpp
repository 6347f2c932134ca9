#pragma once

#include <rota/http/limits.hpp>

namespace rota::http {

/// The same, with times that can be added to any other: ten years instead of what is more. Throws
/// std::invalid_argument for limits under which no client could be served.
[[nodiscard]] server_limits sensible(server_limits limits);

} // namespace rota::http
