#include "string_pool.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace rota::io {
namespace {

struct shelf {
    std::vector<std::string> small;
    std::vector<std::string> large;
    bool in_use = false; // something has been taken
};

shelf& here() {
    thread_local shelf strings;
    return strings;
}

} // namespace

std::string string_pool::take(std::size_t bytes) {
    shelf& mine = here();
    if (!std::exchange(mine.in_use, true)) {
        mine.small.reserve(small_max);
        mine.large.reserve(large_max);
    }
    std::vector<std::string>& kept = bytes <= small_bytes ? mine.small : mine.large;
    std::string taken;
    if (!kept.empty()) {
        taken = std::move(kept.back());
        kept.pop_back();
    }
    taken.reserve(std::max(bytes, bytes_min));
    return taken;
}

void string_pool::keep(std::string& s) noexcept {
    std::string given = std::exchange(s, std::string());
    const std::size_t size = given.capacity();
    shelf& mine = here();
    if (!mine.in_use || size < bytes_min || size > large_bytes)
        return;
    const bool small = size <= small_bytes;
    std::vector<std::string>& kept = small ? mine.small : mine.large;
    if (kept.size() == (small ? small_max : large_max))
        return;
    given.clear();
    kept.push_back(std::move(given)); // within what take() has reserved
}

} // namespace rota::io
