#pragma once

#include <array>
#include <chrono>
#include <cstdint>

#include <rota/check.hpp>
#include <rota/time_span.hpp>

namespace rota {

/// Returns `start + length`, or time_point::max() if that is later than any time that can be
/// represented.
[[nodiscard]] inline std::chrono::steady_clock::time_point
deadline_after(std::chrono::steady_clock::time_point start, time_span span) noexcept {
    using time_point = std::chrono::steady_clock::time_point;
    const time_point::duration length = span;
    if (length > time_point::duration::zero() && start > time_point::max() - length) {
        return time_point::max();
    }
    return start + length;
}

/// A timer: lives in its user's object or coroutine frame, is linked into one wheel while it is
/// armed.
class timer {
public:
    using function = void (*)(timer&) noexcept;
    /// `fire` is called once by the wheel's owner when the time has come; the timer is unlinked by
    /// then.
    explicit timer(function fire) noexcept : fire_(fire) {}
    timer(const timer&) = delete;
    timer& operator=(const timer&) = delete;
#if ROTA_CHECKS
    ~timer() { ROTA_CHECK(!armed(), "a timer is disarmed before it goes"); }
#endif

    [[nodiscard]] bool armed() const noexcept { return list_ != nullptr; }

private:
    friend class timer_wheel;
    function fire_;
    timer* previous_ = nullptr; // of the first of a list: the last
    timer* next_ = nullptr;
    timer** list_ = nullptr; // head of the slot that it is in; null = not armed
    std::uint64_t tick_ = 0;
};

/// Timers of one worker: a hierarchy of six wheels of 64 slots, one tick a millisecond (Varghese
/// and Lauck, "Hashed and Hierarchical Timing Wheels", 1987). Arming and disarming are O(1); a
/// timer cascades at most five times. Never fires early; a time beyond 2^36 ms (about two years)
/// waits for that long and is then put back.
///
/// Thread-safety: none; the holder of the worker's baton owns it. A timer that is destroyed before
/// the wheel must not be armed; those that outlive the wheel are disarmed by its end.
class timer_wheel {
public:
    using clock = std::chrono::steady_clock;
    using time_point = clock::time_point;

    explicit timer_wheel(time_point start) noexcept : start_(start), seen_(start) {}
    ~timer_wheel();
    timer_wheel(const timer_wheel&) = delete;
    timer_wheel& operator=(const timer_wheel&) = delete;

    /// Arms `t`, which is not armed, for `when`; a time in the past fires at the next advance(), or
    /// a tick later if one is under way, and time_point::max() never.
    void arm(timer& t, time_point when) noexcept;
    /// Disarms `t` if it is armed.
    void disarm(timer& t) noexcept;
    /// Fires what is due at `now`, earliest tick first and within a tick in the order of arming;
    /// returns how many fired. Timers may be armed and disarmed meanwhile.
    std::size_t advance(time_point now) {
        if (next_known_ && now < next_) {
            seen_ = now;
            return 0;
        }
        return turn_to(now);
    }
    /// Returns the time of the next advance() that has something to do, or time_point::max() when
    /// no timer is armed that fires.
    [[nodiscard]] time_point next() noexcept {
        if (!next_known_)
            find_next();
        return next_;
    }
    [[nodiscard]] std::size_t armed() const noexcept { return armed_; }

private:
    static constexpr unsigned bits = 6;
    static constexpr unsigned slots = 1U << bits;
    static constexpr unsigned levels = 6;

    struct expiry {
        unsigned level;
        unsigned slot;
        std::uint64_t tick;
    };
    [[nodiscard]] std::uint64_t tick_of(time_point when) const noexcept;
    [[nodiscard]] time_point time_of(std::uint64_t tick) const noexcept {
        return start_ + std::chrono::milliseconds(tick);
    }
    std::size_t turn_to(time_point now);
    void catch_up(time_point now) noexcept;
    [[nodiscard]] bool find_next(expiry& out) const noexcept;
    void find_next() noexcept;
    void link(timer& t) noexcept;
    static void append(timer& t, timer*& head) noexcept;

    time_point start_;
    time_point next_ = time_point::max(); // what next() says, while it is known
    time_point seen_;                     // of the last advance()
    bool next_known_ = true;
    bool advancing_ = false;
    std::uint64_t elapsed_ = 0; // ticks; up to the one of seen_ when something is armed
    std::size_t armed_ = 0;
    std::array<std::uint64_t, levels> occupied_{};
    std::array<std::array<timer*, slots>, levels> wheel_{};
    timer* due_ = nullptr;   // armed for a tick that has already passed
    timer* never_ = nullptr; // armed for time_point::max()
};

} // namespace rota
