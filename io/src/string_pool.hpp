#pragma once

#include <cstddef>
#include <string>

namespace rota::io {

/// Strings whose memory is used again: what arrives, and what waits to be sent, asks the allocator
/// for nothing in the long run, and connections hold memory only while they have such bytes. A few
/// of two sizes for each thread, so there is no lock; one that is taken on one thread may be kept
/// by another. A thread that never takes any keeps none.
class string_pool {
public:
    static constexpr std::size_t bytes_min = 4'096;    // smaller ones are not worth a place
    static constexpr std::size_t small_bytes = 16'384; // up to this
    static constexpr std::size_t large_bytes = 65'536; // larger ones go back to the allocator
    static constexpr std::size_t small_max = 64;       // for each thread
    static constexpr std::size_t large_max = 16;

    /// An empty string with room for `bytes`.
    [[nodiscard]] static std::string take(std::size_t bytes);
    /// Leaves `s` empty and without memory.
    static void keep(std::string& s) noexcept;
};

} // namespace rota::io
