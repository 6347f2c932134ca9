#include "random_id.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include <sys/random.h>

namespace jobs {

namespace {

/// Random bytes of a thread that nothing has been made of yet: a call to the kernel for each id
/// takes longer than all else that an id needs.
class reserve {
public:
    /// Hands out the next bytes, and keeps no copy.
    std::array<unsigned char, 16> next() {
        if (used_ == bytes_.size())
            fill();
        std::array<unsigned char, 16> result{};
        for (unsigned char& byte : result)
            byte = std::exchange(bytes_[used_++], static_cast<unsigned char>(0));
        return result;
    }

private:
    void fill() {
        for (std::span<unsigned char> rest = bytes_; !rest.empty();) {
            const ssize_t got = ::getrandom(rest.data(), rest.size(), 0);
            if (got < 0 && errno != EINTR)
                throw std::system_error(errno, std::system_category(), "getrandom");
            rest = rest.subspan(got < 0 ? 0 : static_cast<std::size_t>(got));
        }
        used_ = 0;
    }

    std::array<unsigned char, 256> bytes_{};
    std::size_t used_ = bytes_.size();
};

} // namespace

std::string random_id() {
    constexpr std::string_view hex = "0123456789abcdef";
    thread_local reserve unused;
    std::string id;
    id.reserve(32);
    for (const unsigned char byte : unused.next()) {
        id += hex[byte >> 4];
        id += hex[byte & 15];
    }
    return id;
}

} // namespace jobs
