#include "string_pool.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace rota::io {
namespace {

std::vector<std::string>& kept() {
    thread_local std::vector<std::string> strings;
    return strings;
}

} // namespace

std::string string_pool::take(std::size_t bytes) {
    std::vector<std::string>& strings = kept();
    std::string taken;
    if (!strings.empty()) {
        taken = std::move(strings.back());
        strings.pop_back();
    }
    taken.reserve(std::max(bytes, bytes_min));
    return taken;
}

void string_pool::keep(std::string& s) noexcept {
    std::string given = std::exchange(s, std::string());
    if (given.capacity() < bytes_min || given.capacity() > bytes_max)
        return;
    std::vector<std::string>& strings = kept();
    if (strings.size() == strings_max)
        return;
    try {
        strings.reserve(strings_max);
    } catch (const std::bad_alloc&) {
        return;
    }
    given.clear();
    strings.push_back(std::move(given));
}

} // namespace rota::io
