#pragma once

#include <cstddef>
#include <string>

namespace rota::io {

/// Strings whose memory is used again: what arrives, and what waits to be sent, asks the allocator
/// for nothing in the long run, and connections hold memory only while they have such bytes. A few
/// of two sizes for each thread, without a lock. One that is taken on one thread may be kept by
/// another: a thread with too many leaves half of them in a depot, where one that has none finds
/// them, so that threads of which some only take and some only keep ask for nothing either.
class string_pool {
public:
    static constexpr std::size_t bytes_min = 4'096;    // smaller ones are not worth a place
    static constexpr std::size_t small_bytes = 16'384; // up to this
    static constexpr std::size_t large_bytes = 65'536; // larger ones go back to the allocator
    static constexpr std::size_t small_max = 64;       // for each thread
    static constexpr std::size_t large_max = 16;
    static constexpr std::size_t depot_shelves = 2; // the depot holds as much as so many threads

    /// An empty string with room for `bytes`.
    [[nodiscard]] static std::string take(std::size_t bytes);
    /// Leaves `s` empty and without memory.
    static void keep(std::string& s) noexcept;
};

} // namespace rota::io
