#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace rota {

/// What a worker's thread sleeps on. One sticky permit (the references' coWait and coNotify): a
/// notify() before a wait() makes that wait return at once, and many notifies before a wait are one
/// permit. It is not a counter.
class parking {
public:
    using clock = std::chrono::steady_clock;

    virtual ~parking() = default;
    /// Blocks the one thread that owns this parking until a permit is there, takes it, and returns
    /// true. Returns false without a permit once `deadline` has passed. Spurious wake-ups of the
    /// kernel are absorbed.
    virtual bool wait_until(clock::time_point deadline) = 0;
    /// Leaves a permit and wakes the owner if it waits. Any thread.
    virtual void notify() noexcept = 0;
};

/// A parking on a futex (man 2 futex).
///
/// The word: 0 = no permit, 1 = permit, 2 = the owner sleeps. wait() takes the permit or announces
/// the sleep by one exchange; notify() leaves the permit by one exchange and enters the kernel only
/// if that replaced "sleeps". What the notifier wrote before notify() is released to the owner by
/// that exchange.
class parker final : public parking {
public:
    bool wait_until(clock::time_point deadline) override;
    /// Does what wait_until() does, without a deadline.
    void wait() { wait_until(clock::time_point::max()); }
    void notify() noexcept override;

private:
    enum : std::uint32_t { empty = 0, permit = 1, sleeping = 2 };
    std::atomic<std::uint32_t> word_{empty};
};

} // namespace rota
