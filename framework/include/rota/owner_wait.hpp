#pragma once

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <optional>
#include <source_location>
#include <stop_token>

#include <rota/detail/runnable.hpp>
#include <rota/routine.hpp>
#include <rota/task.hpp>

namespace rota {

/// Base of awaiters that wait for something that belongs to the holder of the baton of the
/// routine's worker: a timer of its wheel, a connection. No lock is taken; the one thing another
/// thread may do, a stop request, goes through the worker.
///
/// A derived awaiter calls wait() from await_suspend and finish() first in await_resume, and
/// implements withdraw(). Whatever brings what is waited for calls complete(), under the baton.
///
/// The state: waiting -> settled by complete(), or waiting -> stopping by a stop callback, on
/// whatever thread; one exchange decides. In the first case complete() makes the routine ready. In
/// the second the callback posts a runnable embedded here to the routine's worker, and from then on
/// that runnable makes the routine ready, so the frame that this awaiter is in lives until it has
/// run. A complete() between the two still counts: the wait then ends with what it waited for, not
/// with operation_cancelled, and nothing is lost.
class owner_wait : private runnable {
public:
    owner_wait(const owner_wait&) = delete;
    owner_wait& operator=(const owner_wait&) = delete;

    bool await_ready() const noexcept { return false; }

protected:
    /// `what` is static; it and `where` are shown by runtime::blocked().
    explicit owner_wait(const char* what,
                        std::source_location where = std::source_location::current()) noexcept;
    ~owner_wait() = default;

    /// Waits for what `arm()` arms; call from await_suspend and return its result. `arm()` runs at
    /// once: true = armed, complete() will follow, later; false = there is nothing to wait for, and
    /// the routine only yields if it has spent its budget. It is not called if stop has been
    /// requested already.
    template <class Promise, class Arm>
    bool wait(std::coroutine_handle<Promise> self, Arm&& arm) {
        const std::stop_token& token = self.promise().stop_token();
        if (token.stop_requested()) {
            outcome_ = outcome::withdrawn;
            return false;
        }
        owner_ = &self.promise().current_routine();
        if (!arm()) {
            outcome_ = outcome::completed;
            return owner_->yield_if_spent(self);
        }
        owner_->suspend(self, what_, where_);
        // The routine cannot run before this coroutine has gone back to its worker, whatever the
        // callback does.
        on_stop_.emplace(token, stopper{this});
        return true;
    }

    /// Ends the wait. Call first in await_resume. Throws operation_cancelled if the wait was
    /// withdrawn.
    void finish();

    /// Ends the wait: what it was for has come. Called by the baton holder, at most once, and not
    /// after withdrawn().
    void complete() noexcept;
    /// Does what complete() does, and runs the routine at once (routine::run_now()): the awaiter is
    /// gone when this returns. Not after a withdraw() that returned false.
    void complete_here() noexcept;
    /// Ends a withdraw() that returned false. The baton holder.
    void withdrawn() noexcept;

    /// Undoes arm() because of a stop request. Returns true if that is done and complete() will not
    /// be called; false if it lasts until complete() or withdrawn() is called (an operation that
    /// the kernel has to give back). Runs under the baton, at most once, never after complete().
    virtual bool withdraw() noexcept = 0;

    /// Returns whether a stop request is to end it. Any thread.
    [[nodiscard]] bool stopping() const noexcept {
        return state_.load(std::memory_order_relaxed) == state::stopping;
    }
    /// Returns the routine that waits; valid from arm() on.
    [[nodiscard]] routine& owner() const noexcept { return *owner_; }

private:
    enum class state : std::uint8_t { waiting, settled, stopping };
    enum class outcome : std::uint8_t { none, withdrawing, completed, withdrawn };

    struct stopper {
        owner_wait* self;
        void operator()() const noexcept;
    };
    static void run_withdraw(runnable& self) noexcept;

    // -- set before the wait is visible
    const char* const what_;
    const std::source_location where_;
    routine* owner_ = nullptr;
    std::optional<std::stop_callback<stopper>> on_stop_;

    // -- any thread
    std::atomic<state> state_{state::waiting};

    // -- the baton holder
    outcome outcome_ = outcome::none;
};

} // namespace rota
