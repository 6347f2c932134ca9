#include "harness.hpp"

#include <algorithm>
#include <utility>

namespace rota::bench {
namespace {

using std::chrono::nanoseconds;

/// How many iterations take about `length`, or less if they need much preparation. A count only
/// seems to take long enough when the thread is preempted, so the fastest of three decides.
std::uint64_t calibrate(const std::function<nanoseconds(std::uint64_t)>& run, nanoseconds length) {
    for (std::uint64_t count = 1;; count *= 2) {
        nanoseconds counted = nanoseconds::max();
        nanoseconds in_all = nanoseconds::max();
        for (int i = 0; i < 3 && (counted >= length / 4 || in_all >= length * 4); ++i) {
            const auto begin = clock::now();
            counted = std::min(counted, run(count));
            in_all = std::min<nanoseconds>(in_all, clock::now() - begin);
        }
        if (counted >= length / 4) {
            const double factor = static_cast<double>(length.count()) /
                                  static_cast<double>(std::max<std::int64_t>(1, counted.count()));
            const double scaled = static_cast<double>(count) * std::min(factor, 4.0);
            return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(scaled));
        }
        if (in_all >= length * 4) {
            return count;
        }
    }
}

} // namespace

void harness::time(std::string name, const std::function<nanoseconds(std::uint64_t)>& run) {
    if (!wanted(name)) {
        return;
    }
    const unsigned repeats = quick() ? 5 : 11;
    const std::uint64_t count = calibrate(run, std::chrono::milliseconds(quick() ? 10 : 50));
    std::vector<double> each;
    each.reserve(repeats);
    for (unsigned i = 0; i < repeats; ++i) {
        each.push_back(static_cast<double>(run(count).count()) / static_cast<double>(count));
    }
    std::sort(each.begin(), each.end());
    figures_.push_back({.name = std::move(name),
                        .unit = "ns",
                        .median = each[repeats / 2],
                        .lowest = each.front(),
                        .highest = each.back(),
                        .iterations = count,
                        .repeats = repeats});
}

void harness::record(std::string name, std::string unit, double value, std::uint64_t iterations) {
    if (!wanted(name)) {
        return;
    }
    figures_.push_back({.name = std::move(name),
                        .unit = std::move(unit),
                        .median = value,
                        .lowest = value,
                        .highest = value,
                        .iterations = iterations,
                        .repeats = 1});
}

} // namespace rota::bench
