#pragma once

#include <chrono>
#include <coroutine>
#include <source_location>
#include <stdexcept>
#include <utility>

#include <rota/detail/timer_wheel.hpp>
#include <rota/errors.hpp>
#include <rota/io/stream.hpp>
#include <rota/owner_wait.hpp>
#include <rota/worker.hpp>

namespace rota::io {

/// A place in a long-lived object (a connection, a listener) where one routine of its worker at a
/// time waits for what the holder of the worker's baton will bring about, with an optional
/// deadline. The baton holder only, also for the end.
///
/// The timer belongs to the place, not to the wait, and stays armed when a wait ends: a connection
/// waits for each of its requests with a deadline that hardly ever passes, so arming and disarming
/// once for each would be work for nothing. When the timer fires it looks what the present wait's
/// deadline is, and is armed again for that if it is later.
class wait_point {
public:
    explicit wait_point(worker& home) noexcept : home_(home), expiry_(*this) {}
    wait_point(const wait_point&) = delete;
    wait_point& operator=(const wait_point&) = delete;
    ~wait_point() { end(); }
    /// Nobody waits here any more: the place may outlive its worker now.
    void end() noexcept {
        if (expiry_.armed())
            home_.timers().disarm(expiry_);
    }

    [[nodiscard]] bool waiting() const noexcept { return current_ != nullptr; }
    /// The same, but for a wait that is about to end by a stop request.
    [[nodiscard]] bool waiting_on() const noexcept {
        return current_ != nullptr && !current_->stopping();
    }

    /// Ends the wait, if there is one: the routine runs later and looks again.
    void wake() noexcept {
        if (current_ != nullptr)
            current_->end(false);
    }

    class awaiter final : public owner_wait {
    public:
        awaiter(wait_point& point, const char* what, deadline until,
                std::source_location where) noexcept
            : owner_wait(what, where), point_(point), until_(until) {}

        template <class Promise>
        bool await_suspend(std::coroutine_handle<Promise> self) {
            return wait(self, [this] {
                if (&owner().home() != &point_.home_)
                    throw std::logic_error("rota: waiting for io on a worker that is not its own");
                if (point_.current_ != nullptr)
                    throw std::logic_error("rota: two coroutines wait for the same thing, as two "
                                           "that read one connection");
                point_.current_ = this;
                if (until_)
                    point_.expire_by(*until_);
                return true;
            });
        }
        /// Throws timed_out, operation_cancelled, and std::logic_error on another worker or beside
        /// another wait.
        void await_resume() {
            finish();
            if (timed_out_)
                throw timed_out();
        }

    private:
        friend class wait_point;

        void end(bool timed_out) noexcept {
            timed_out_ = timed_out;
            withdraw();
            complete();
        }
        bool withdraw() noexcept override {
            point_.current_ = nullptr;
            return true;
        }

        wait_point& point_;
        const deadline until_;
        bool timed_out_ = false;
    };

    /// Awaited by a routine of the worker.
    awaiter wait(const char* what, deadline until, std::source_location where) noexcept {
        return {*this, what, until, where};
    }

private:
    struct expiry : timer {
        explicit expiry(wait_point& p) noexcept : timer(&fire), point(p) {}
        static void fire(timer& t) noexcept { static_cast<expiry&>(t).point.expired(); }
        wait_point& point;
    };

    /// Sees to it that the timer fires at `until` or earlier.
    void expire_by(std::chrono::steady_clock::time_point until) noexcept {
        if (expiry_.armed() && armed_for_ <= until)
            return;
        home_.timers().disarm(expiry_);
        home_.timers().arm(expiry_, until);
        armed_for_ = until;
    }

    void expired() noexcept {
        if (current_ == nullptr || !current_->until_)
            return;
        if (*current_->until_ > armed_for_) {
            expire_by(*current_->until_);
        } else {
            current_->end(true);
        }
    }

    worker& home_;
    awaiter* current_ = nullptr;
    expiry expiry_;
    std::chrono::steady_clock::time_point armed_for_;
};

} // namespace rota::io
