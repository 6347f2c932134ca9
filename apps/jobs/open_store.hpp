#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include <rota/io/context.hpp>

#include "store.hpp"

namespace jobs {

/// Opens the store that a text names: "memory"; "sqlite:PATH" or "postgres://..." if it was built
/// with them. `on`, which outlives it, is where a store awaits its connections, of which it has
/// `connections`. Throws std::invalid_argument for any other text, store_error if the store cannot
/// be opened; a database that cannot be reached now is no error.
[[nodiscard]] std::unique_ptr<store> open_store(std::string_view name, const store_limits& limits,
                                                rota::io::context& on, std::size_t connections = 4);

/// Throws std::invalid_argument for a text that names no store. The message leaves the text out if
/// it may hold a password.
void check_store_name(std::string_view name);

} // namespace jobs
