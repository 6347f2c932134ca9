#pragma once

#include <atomic>
#include <cstdint>

namespace rota {

/// A mutex of four bytes for what is held for a moment and almost never by two threads at once:
/// without contention an instruction each to lock and to unlock, where std::mutex calls the C
/// library. A thread that has to wait sleeps (man 2 futex).
///
/// A BasicLockable, for std::lock_guard. Not recursive. Any thread; it may be destroyed as soon as
/// the last that locked it has unlocked it, even while that call returns.
class small_lock {
public:
    small_lock() noexcept = default;
    small_lock(const small_lock&) = delete;
    small_lock& operator=(const small_lock&) = delete;

    void lock() noexcept {
        std::uint32_t was = free;
        if (!state_.compare_exchange_strong(was, held, std::memory_order_acquire,
                                            std::memory_order_relaxed)) [[unlikely]]
            wait();
    }
    void unlock() noexcept {
        if (state_.exchange(free, std::memory_order_release) == contended) [[unlikely]]
            state_.notify_one(); // takes the address alone: the lock may be gone
    }

private:
    static constexpr std::uint32_t free = 0;
    static constexpr std::uint32_t held = 1;
    static constexpr std::uint32_t contended = 2; // held, and another thread may sleep

    /// A thread that has slept cannot know whether others sleep, so it holds the lock as contended.
    [[gnu::noinline]] void wait() noexcept {
        while (state_.exchange(contended, std::memory_order_acquire) != free)
            state_.wait(contended, std::memory_order_relaxed);
    }

    std::atomic<std::uint32_t> state_{free};
};

} // namespace rota
