#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace rota::bench {

using clock = std::chrono::steady_clock;

/// Keeps the compiler from dropping the computation of `value`.
template <class T>
void keep(const T& value) noexcept {
    asm volatile("" : : "r,m"(value) : "memory");
}

/// One line of the result.
struct figure {
    std::string name;
    std::string unit;
    double median = 0;
    double lowest = 0;
    double highest = 0;
    std::uint64_t iterations = 0; ///< of one repeat
    unsigned repeats = 0;
};

/// Runs the cases and collects what they measure. One thread.
class harness {
public:
    struct settings {
        bool quick = false;
        std::string only{}; ///< run the cases whose name contains this
    };
    explicit harness(settings s) : settings_(std::move(s)) {}

    [[nodiscard]] bool quick() const noexcept { return settings_.quick; }
    /// Whether the case is to run at all, for cases that prepare much.
    [[nodiscard]] bool wanted(std::string_view name) const {
        return name.find(settings_.only) != std::string_view::npos;
    }

    /// Measures how long one operation takes, in nanoseconds. `run(n)` does it n times and returns
    /// how long they took together; what it does before and after is not counted. n is chosen so
    /// that a call takes about 50 ms (quick: 10), and the figure is the median of several calls.
    void time(std::string name, const std::function<std::chrono::nanoseconds(std::uint64_t)>& run);
    /// Takes a value that was measured some other way, once.
    void record(std::string name, std::string unit, double value, std::uint64_t iterations);

    [[nodiscard]] const std::vector<figure>& figures() const noexcept { return figures_; }

private:
    settings settings_;
    std::vector<figure> figures_;
};

} // namespace rota::bench
