#pragma once

#include <chrono>
#include <coroutine>
#include <source_location>
#include <stdexcept>

#include <rota/detail/timer_wheel.hpp>
#include <rota/io/stream.hpp>
#include <rota/owner_wait.hpp>
#include <rota/worker.hpp>

namespace rota::http::h2 {

/// What one routine waits for, and others of the same worker bring about: no locks. What has been
/// said before a wait is not kept: look first, then wait.
class signal {
public:
    explicit signal(worker& home) noexcept : home_(home) {}
    signal(const signal&) = delete;
    signal& operator=(const signal&) = delete;

    class [[nodiscard]] awaiter final : public owner_wait {
    public:
        awaiter(signal& of, const char* what, io::deadline until,
                std::source_location where) noexcept
            : owner_wait(what, where), of_(of), until_(until), expiry_(*this) {}

        template <class Promise>
        bool await_suspend(std::coroutine_handle<Promise> self) {
            return wait(self, [this] {
                if (of_.waiting_ != nullptr)
                    throw std::logic_error("rota: two coroutines wait for the same thing, as two "
                                           "that read one request's content");
                of_.waiting_ = this;
                if (until_)
                    of_.home_.timers().arm(expiry_, *until_);
                return true;
            });
        }
        /// True if there was a signal, false if the time was up. Throws operation_cancelled, and
        /// std::logic_error beside another wait.
        bool await_resume() {
            finish();
            return !late_;
        }

    private:
        friend class signal;
        struct expiry : timer {
            explicit expiry(awaiter& a) noexcept : timer(&fire), self(a) {}
            static void fire(timer& t) noexcept { static_cast<expiry&>(t).self.end(true); }
            awaiter& self;
        };
        void end(bool late) noexcept {
            late_ = late;
            withdraw();
            complete();
        }
        bool withdraw() noexcept override {
            of_.home_.timers().disarm(expiry_);
            of_.waiting_ = nullptr;
            return true;
        }

        signal& of_;
        const io::deadline until_;
        expiry expiry_;
        bool late_ = false;
    };

    /// `what` is static: for the list of what is blocked.
    awaiter wait(const char* what, io::deadline until = {},
                 std::source_location where = std::source_location::current()) noexcept {
        return {*this, what, until, where};
    }
    /// Wakes what waits, if anything does.
    void notify() noexcept {
        if (waiting_ != nullptr)
            waiting_->end(false);
    }

private:
    worker& home_;
    awaiter* waiting_ = nullptr;
};

} // namespace rota::http::h2
