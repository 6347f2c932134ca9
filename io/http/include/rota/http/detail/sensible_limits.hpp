#pragma once

#include <rota/http/limits.hpp>

namespace rota::http {

/// Returns the same, with times that can be added to any other: ten years instead of more. Throws
/// std::invalid_argument for limits under which no client could be served.
[[nodiscard]] server_limits sensible(server_limits limits);

} // namespace rota::http
