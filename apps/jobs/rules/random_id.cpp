#include "random_id.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <span>
#include <string_view>
#include <system_error>

#include <sys/random.h>

namespace jobs {

std::string random_id() {
    constexpr std::string_view hex = "0123456789abcdef";
    std::array<unsigned char, 16> bytes{};
    for (std::span<unsigned char> rest = bytes; !rest.empty();) {
        const ssize_t got = ::getrandom(rest.data(), rest.size(), 0);
        if (got < 0 && errno != EINTR)
            throw std::system_error(errno, std::system_category(), "getrandom");
        rest = rest.subspan(got < 0 ? 0 : static_cast<std::size_t>(got));
    }
    std::string id;
    id.reserve(2 * bytes.size());
    for (const unsigned char byte : bytes) {
        id += hex[byte >> 4];
        id += hex[byte & 15];
    }
    return id;
}

} // namespace jobs
