#include "backoff.hpp"

#include <algorithm>
#include <cmath>

namespace jobs {
namespace {

/// Of the family of splitmix64: neighbouring numbers come out far apart.
std::uint64_t scatter(std::uint64_t x) noexcept {
    x += 0x9e37'79b9'7f4a'7c15U;
    x = (x ^ (x >> 30)) * 0xbf58'476d'1ce4'e5b9U;
    x = (x ^ (x >> 27)) * 0x94d0'49bb'1331'11ebU;
    return x ^ (x >> 31);
}

} // namespace

std::int64_t backoff_ms(const backoff_settings& as, std::uint32_t failures,
                        std::uint64_t seed) noexcept {
    const std::uint32_t after = as.after.value_or(backoff_defaults::after);
    if (failures <= after)
        return 0;
    const auto initial = static_cast<double>(as.initial_ms.value_or(backoff_defaults::initial_ms));
    const double factor = as.factor_milli.value_or(backoff_defaults::factor_milli) / 1'000.0;
    const auto most = static_cast<double>(as.max_ms.value_or(backoff_defaults::max_ms));
    // Of a power that is too large min() makes the maximum, of nothing times infinity nothing.
    const double grown = initial > 0 ? initial * std::pow(factor, failures - after - 1) : 0;
    const auto longest = static_cast<std::int64_t>(std::min(grown, most));
    const std::int64_t spread = longest / 2;
    const std::uint64_t drawn = scatter(seed) % static_cast<std::uint64_t>(spread + 1);
    return longest - static_cast<std::int64_t>(drawn);
}

} // namespace jobs
