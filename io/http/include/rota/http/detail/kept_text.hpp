#pragma once

#include <cstddef>
#include <string>

namespace rota::http::detail {

/// A buffer that grew beyond this for one request, answer or batch is freed after it: idle
/// connections hold little.
inline constexpr std::size_t kept_capacity_max = 4'096;

// Not in line: what calls it would save registers for it each time.
[[gnu::noinline]] inline void trim(std::string& text) { text.shrink_to_fit(); }

/// Empties it, and keeps its memory unless that is much.
inline void clear_and_trim(std::string& text) {
    text.clear();
    if (text.capacity() > kept_capacity_max)
        trim(text);
}

} // namespace rota::http::detail
