#pragma once

#include <cstddef>
#include <cstdint>

namespace sim {

/// Where every decision of a run comes from: the same seed gives the same numbers everywhere
/// (splitmix64; std::uniform_int_distribution differs between libraries). A value.
class random {
public:
    explicit random(std::uint64_t seed) noexcept : state_(seed) {}

    std::uint64_t next() noexcept {
        state_ += 0x9e3779b97f4a7c15U;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31);
    }
    /// From 0 to `end` - 1; `end` is not 0.
    std::size_t below(std::size_t end) noexcept { return next() % end; }
    /// From `first` to `last`, both included.
    std::size_t between(std::size_t first, std::size_t last) noexcept {
        return first + below(last - first + 1);
    }
    /// True in so many of a thousand cases.
    bool chance(unsigned per_mille) noexcept { return below(1000) < per_mille; }
    template <class T, std::size_t Count>
    T one_of(const T (&values)[Count]) noexcept {
        return values[below(Count)];
    }

private:
    std::uint64_t state_;
};

} // namespace sim
