#pragma once

#include <coroutine>
#include <source_location>
#include <utility>

#include <rota/errors.hpp>
#include <rota/io/stream.hpp>
#include <rota/owner_wait.hpp>
#include <rota/timer_wheel.hpp>
#include <rota/worker.hpp>

namespace rota::io {

/// A place in a long-lived object (a connection, a listener) where one routine of its worker at a
/// time waits for what the holder of the worker's baton will bring about, with an optional
/// deadline. The baton holder only.
class wait_point {
public:
    explicit wait_point(worker& home) noexcept : home_(home) {}
    wait_point(const wait_point&) = delete;
    wait_point& operator=(const wait_point&) = delete;

    [[nodiscard]] bool waiting() const noexcept { return current_ != nullptr; }

    /// Ends the wait, if there is one: the routine runs later and looks again.
    void wake() noexcept {
        if (current_ != nullptr)
            current_->end(false);
    }

    class awaiter final : public owner_wait {
    public:
        awaiter(wait_point& point, const char* what, deadline until,
                std::source_location where) noexcept
            : owner_wait(what, where), point_(point), until_(until), timer_(*this) {}

        template <class Promise>
        bool await_suspend(std::coroutine_handle<Promise> self) {
            return wait(self, [this] {
                point_.current_ = this;
                if (until_)
                    point_.home_.timers().arm(timer_, *until_);
                return true;
            });
        }
        /// Throws timed_out, operation_cancelled.
        void await_resume() {
            finish();
            if (timed_out_)
                throw timed_out();
        }

    private:
        friend class wait_point;
        struct expiry : timer {
            explicit expiry(awaiter& a) noexcept : timer(&fire), self(a) {}
            static void fire(timer& t) noexcept { static_cast<expiry&>(t).self.end(true); }
            awaiter& self;
        };

        void end(bool timed_out) noexcept {
            timed_out_ = timed_out;
            withdraw();
            complete();
        }
        bool withdraw() noexcept override {
            point_.home_.timers().disarm(timer_);
            point_.current_ = nullptr;
            return true;
        }

        wait_point& point_;
        const deadline until_;
        expiry timer_;
        bool timed_out_ = false;
    };

    /// Awaited by a routine of the worker, while nobody else waits.
    awaiter wait(const char* what, deadline until, std::source_location where) noexcept {
        return {*this, what, until, where};
    }

private:
    worker& home_;
    awaiter* current_ = nullptr;
};

} // namespace rota::io
