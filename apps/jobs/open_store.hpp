#pragma once

#include <memory>
#include <string_view>

#include "store.hpp"

namespace jobs {

/// The store that a text names: "memory", or "sqlite:PATH" if it was built with SQLite. Throws
/// std::invalid_argument for any other text, store_error if the store cannot be had.
[[nodiscard]] std::unique_ptr<store> open_store(std::string_view name, const store_limits& limits);

/// Throws std::invalid_argument for a text that names no store.
void check_store_name(std::string_view name);

} // namespace jobs
