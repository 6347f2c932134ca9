#pragma once

#include <coroutine>
#include <mutex>
#include <optional>
#include <source_location>
#include <stop_token>

#include <rota/errors.hpp>
#include <rota/routine.hpp>
#include <rota/task.hpp>
#include <rota/wait_list.hpp>

namespace rota {

/// Base of the awaiters of every primitive that keeps its waiters in a wait_list under a mutex.
///
/// A derived awaiter has `await_ready()` (usually false), `await_suspend` that calls wait_unless(),
/// and `await_resume()` that calls finish() first. The lock is held throughout from the check to
/// the parking, so no wake-up falls between them. A stop request takes the waiter out of the list
/// under the same lock: either it got there first and the wait ends with operation_cancelled,
/// having taken nothing; or the waiter had already been taken out to be given what it waited for,
/// and the request has no effect on this wait. A branch of a race is taken out for that only
/// together with the race's claim (claim.hpp).
///
/// `Lock` is the type of the mutex; list_awaiter is the one for std::mutex.
template <class Lock>
class basic_list_awaiter : protected waiter {
public:
    basic_list_awaiter(Lock& lock, wait_list& list, const char* what,
                       std::source_location where) noexcept
        : lock_(lock), list_(list), what_(what), where_(where) {}
    /// Moves it into the frame of what awaits it; only before it is awaited.
    basic_list_awaiter(basic_list_awaiter&& other) noexcept
        : lock_(other.lock_), list_(other.list_), what_(other.what_), where_(other.where_) {
        ROTA_CHECK(other.owner == nullptr, "a wait that has begun stays where it is");
        ROTA_CHECK(other.race == nullptr, "a branch of a race stays where it is");
    }
    basic_list_awaiter& operator=(basic_list_awaiter&&) = delete;

    bool await_ready() const noexcept { return false; }

    /// Makes it a branch of `race`, before it is awaited: it is served if it is the first of them,
    /// and cancelled otherwise. Returns the key of the branch there.
    const void* run_in(claim& race_of_it) noexcept {
        race = &race_of_it;
        return static_cast<const waiter*>(this);
    }

protected:
    virtual ~basic_list_awaiter() = default;

    /// Called under the lock when a cancelled waiter has left the list. Takes out and returns the
    /// chain of waiters that may go on because of it (see wait_list::wake_chain).
    virtual waiter* others_after_cancel() noexcept { return nullptr; }

    /// Waits, unless `satisfied()`, which runs under the lock, returns true: then there is no need
    /// to wait, and the routine only yields if it has spent its budget. Call from await_suspend and
    /// return its result.
    template <class Promise, class Satisfied>
    bool wait_unless(std::coroutine_handle<Promise> self, Satisfied&& satisfied) {
        const std::stop_token& token = self.promise().stop_token();
        if (token.stop_requested()) {
            cancelled = true;
            return false;
        }
        owner = &self.promise().current_routine();
        bool waits = false;
        {
            const std::lock_guard guard(lock_);
            if (race != nullptr ? !end_race(satisfied) : !satisfied()) {
                owner->suspend(self, what_, where_, &list_);
                list_.push_back(*this);
                waits = true;
            }
        }
        if (!waits)
            return owner->yield_if_spent(self);
        // From here another thread may have made the routine ready; it cannot run before this
        // coroutine has gone back to its worker, so the frame is still ours.
        on_stop_.emplace(token, canceller{this});
        return true;
    }

    /// Ends the wait. Call first in await_resume. Throws operation_cancelled if the wait was
    /// cancelled.
    void finish() {
        on_stop_.reset(); // waits for a callback that is under way on another thread
        if (cancelled)
            throw operation_cancelled();
    }

private:
    /// Returns true if it is served at once, or too late: another branch of its race has been the
    /// first.
    template <class Satisfied>
    bool end_race(Satisfied& satisfied) {
        claim::attempt now(*race, static_cast<const waiter*>(this));
        if (now.lost()) {
            cancelled = true;
            return true;
        }
        if (!satisfied())
            return false;
        now.served();
        return true;
    }

    struct canceller {
        basic_list_awaiter* self;
        void operator()() const noexcept {
            waiter* others = nullptr;
            {
                const std::lock_guard guard(self->lock_);
                if (!self->queued)
                    return;
                self->list_.remove(*self);
                self->cancelled = true;
                others = self->others_after_cancel();
            }
            self->wake();
            wait_list::wake_chain(others);
        }
    };

    Lock& lock_;
    wait_list& list_;
    const char* what_;
    std::source_location where_;
    std::optional<std::stop_callback<canceller>> on_stop_;
};

class list_awaiter : public basic_list_awaiter<std::mutex> {
protected:
    using basic_list_awaiter::basic_list_awaiter;
};

} // namespace rota
