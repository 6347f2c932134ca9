#pragma once

#include <string_view>

#include <rota/http/headers.hpp>

namespace rota::http {

/// Adds a name to Vary, in however many fields that is, unless it is there, or "*".
void add_to_vary(headers& to, std::string_view name);

} // namespace rota::http
