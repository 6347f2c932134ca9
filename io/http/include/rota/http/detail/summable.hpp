#pragma once

#include <algorithm>
#include <concepts>
#include <limits>

namespace rota::http {

/// `bytes`, or a quarter of what the type can count if it is more: a size that is told to mean
/// without end has room for what is added to it then, and a sign.
template <std::unsigned_integral Size>
[[nodiscard]] constexpr Size summable(Size bytes) noexcept {
    return std::min<Size>(bytes, std::numeric_limits<Size>::max() / 4);
}

} // namespace rota::http
