#pragma once

#include <chrono>

namespace rota {

/// How long one step of a routine may go on by awaits that need not wait. The worker renews it for
/// each step; every await that completes at once spends some of it, and where it is spent the await
/// yields instead: others have their turn, however much is available at once.
///
/// It is spent by time, or by a number of awaits where the clock stands still. Reading the clock
/// costs as much as an await, so it is read once every few awaits: up to 16 if they are cheap, each
/// if they are costly. Thread-safety: none; the holder of the worker's baton.
class budget {
public:
    using time_point = std::chrono::steady_clock::time_point;

    /// As long as the read side may run a worker on its behalf (io: topology split).
    static constexpr std::chrono::microseconds step_max{200};
    static constexpr int awaits_max = 512;

    /// Begins a turn of the worker, which has to end at `until` whatever it runs.
    void begin_turn(time_point now, time_point until) noexcept {
        looked_ = now;
        until_ = until;
        spent_ = false;
        yields_ = yields_left_ = 1;
    }
    /// Begins a step.
    void renew() noexcept {
        left_ = chunk_;
        taken_ = 0;
        deadline_ = unset;
    }
    /// Counts an await; returns true if it is time to look().
    [[nodiscard]] bool count() noexcept { return --left_ <= 0; }
    /// Does what count() does, for a caller that has the time anyway.
    [[nodiscard]] bool count(time_point now) noexcept { return --left_ <= 0 || now >= deadline_; }
    /// Returns true if the step's budget is spent. The first look of a step begins its time.
    [[nodiscard]] bool look(time_point now) noexcept {
        taken_ += chunk_ - left_;
        chunk_ = now - looked_ > costly ? 1 : at_most(2 * chunk_, chunk_max);
        left_ = chunk_;
        looked_ = now;
        if (deadline_ == unset)
            deadline_ = at_most(now + step_max, until_);
        spent_ = now >= deadline_ || taken_ >= awaits_max;
        return spent_;
    }
    /// Counts a step that yields, and so may come again in this turn; returns true if it is time to
    /// look_at_turn().
    [[nodiscard]] bool count_yield() noexcept { return !spent_ && --yields_left_ <= 0; }
    /// Ensures that what has come meanwhile waits for no more than `step_max` of such steps, or
    /// four of them, however long each of them takes.
    void look_at_turn(time_point now, time_point begun) noexcept {
        yields_ = now - looked_ > costly ? 1 : at_most(2 * yields_, yields_max);
        yields_left_ = yields_;
        looked_ = now;
        spent_ = now >= at_most(begun + step_max, until_);
    }
    /// Returns whether the steps of this turn have spent its budget: time to look what has come
    /// meanwhile.
    [[nodiscard]] bool spent() const noexcept { return spent_; }

private:
    /// Does what std::min() does, without its header, which costs every program that includes this
    /// one a tenth of its compile time.
    template <class T>
    static constexpr T at_most(T value, T most) noexcept {
        return most < value ? most : value;
    }

    static constexpr int chunk_max = 16;
    static constexpr int yields_max = 4;
    static constexpr std::chrono::microseconds costly{50};
    static constexpr time_point unset = time_point::min();

    int chunk_ = chunk_max; // awaits from one look to the next
    int left_ = chunk_max;
    int taken_ = 0;
    int yields_ = 1; // from one look at the turn to the next
    int yields_left_ = 1;
    bool spent_ = false;
    time_point looked_;
    time_point until_;
    time_point deadline_;
};

} // namespace rota
