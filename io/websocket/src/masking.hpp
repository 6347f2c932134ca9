#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace rota::http::ws {

/// The key of a frame that a client sends (RFC 6455 section 5.3).
using mask_key = std::array<char, 4>;

/// Writes `from` to `to`, which has room for it, with the mask taken off, or put on: it is the
/// same. `at` is where in the frame's payload `from` begins. They may be the same memory, but not
/// overlap otherwise.
void apply_mask(std::string_view from, char* to, const mask_key& key, std::size_t at) noexcept;

} // namespace rota::http::ws
