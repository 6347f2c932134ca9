#pragma once

#include <cstdint>

namespace sim {

/// Memory that runs out, in some of the runs: what the server's threads ask for is refused now and
/// then, or once. A drawn number decides, and not what is kept from one run to the next (frames,
/// strings): the same seed goes the same way. What the simulation itself needs is always there.
/// One for the program; on its one thread.
class memory {
public:
    /// For this run: nothing is refused until begin(). The draws are the seed's, but others than
    /// those of everything else, so that a run without shortage goes as if there were none.
    static void draw(std::uint64_t seed) noexcept;
    /// From here on, if this run is one of those.
    static void begin() noexcept;
    /// There is enough again.
    static void end() noexcept;
    /// Whether something may have been refused in this run.
    [[nodiscard]] static bool was_short() noexcept;
    /// Whether the one that asks now gets nothing.
    [[nodiscard]] static bool refuses() noexcept;

    /// While it is there, one thing that the thread asks for may be refused, among the first dozen,
    /// besides what is refused now and then: for what is to be tried at each of its allocations.
    class scarce {
    public:
        scarce() noexcept;
        ~scarce();
        scarce(const scarce&) = delete;
        scarce& operator=(const scarce&) = delete;
    };
    /// While it is there, the thread gets what it asks for.
    class ample {
    public:
        ample() noexcept;
        ~ample();
        ample(const ample&) = delete;
        ample& operator=(const ample&) = delete;
    };
};

} // namespace sim
