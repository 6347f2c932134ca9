#pragma once

#include <algorithm>
#include <concepts>
#include <limits>

namespace rota::http {

/// Returns `bytes`, or a quarter of what the type can count if it is more: a size that means
/// unlimited then has room for what is added to it, and a sign.
template <std::unsigned_integral Size>
[[nodiscard]] constexpr Size summable(Size bytes) noexcept {
    return std::min<Size>(bytes, std::numeric_limits<Size>::max() / 4);
}

} // namespace rota::http
