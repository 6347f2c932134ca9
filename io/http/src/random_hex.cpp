#include "random_hex.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>

#include <sys/random.h>
#include <unistd.h>

#include <rota/detail/hex.hpp>

namespace rota::http {
namespace {

/// splitmix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators"), over a
/// counter that begins anywhere.
class generator {
public:
    generator() noexcept {
        if (::getrandom(&state_, sizeof state_, GRND_NONBLOCK) != sizeof state_) {
            // As it is early in the life of the machine: something that others do not have.
            const auto now = std::chrono::system_clock::now().time_since_epoch().count();
            state_ = static_cast<std::uint64_t>(now) ^ reinterpret_cast<std::uintptr_t>(this) ^
                     static_cast<std::uint64_t>(::getpid()) << 40;
        }
    }

    std::uint64_t next() noexcept {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }

private:
    std::uint64_t state_ = 0;
};

} // namespace

void fill_random_hex(std::span<char> to) noexcept {
    static thread_local generator from;
    bool zero = true;
    while (zero && !to.empty()) {
        for (std::size_t i = 0; i < to.size();) {
            std::uint64_t bits = from.next();
            for (std::size_t end = i + 16; i < to.size() && i < end; ++i) {
                zero &= (bits & 15) == 0;
                to[i] = rota::detail::hex_digit(static_cast<unsigned>(bits & 15));
                bits >>= 4;
            }
        }
    }
}

} // namespace rota::http
