#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <utility>

#include <rota/check.hpp>
#include <rota/linked_stop.hpp>

namespace rota::http {

/// Ends the wait of an idle connection when its server drains, and no other wait.
///
/// The state is one word: `idle` = the session waits between two requests, `draining` = the server
/// drains. Each side sets its bit with one atomic operation and sees whether the other bit was
/// there first; the side that comes second asks the wait to stop. So the request for it is made
/// exactly if both are true at once, whichever came first.
///
/// enter_idle() and leave_idle() belong to the session; the stop requests may come from any thread.
class drain_watch {
public:
    /// `stop` cancels everything, `draining` idle waits.
    drain_watch(std::stop_token stop, std::stop_token draining)
        : draining_(std::move(draining)), token_(std::move(stop)) {
        if (!draining_.stop_possible())
            return;
        either_.emplace(token_);
        token_ = either_->token();
        on_drain_.emplace(draining_, notice{this});
    }
    drain_watch(const drain_watch&) = delete;
    drain_watch& operator=(const drain_watch&) = delete;

    [[nodiscard]] bool draining() const noexcept { return draining_.stop_requested(); }
    /// For waits between enter_idle() and leave_idle().
    [[nodiscard]] const std::stop_token& idle_token() const noexcept { return token_; }

    void enter_idle() noexcept {
        const std::uint8_t before = state_.fetch_or(idle, std::memory_order_acq_rel);
        ROTA_CHECK((before & idle) == 0, "a session waits for one thing at a time");
        if ((before & is_draining) != 0)
            either_->request_stop();
    }
    void leave_idle() noexcept {
        const std::uint8_t before =
            state_.fetch_and(static_cast<std::uint8_t>(~idle), std::memory_order_acq_rel);
        ROTA_CHECK((before & idle) != 0, "a wait is left once");
    }

private:
    static constexpr std::uint8_t idle = 1;
    static constexpr std::uint8_t is_draining = 2;

    struct notice {
        drain_watch* self;
        void operator()() const noexcept {
            if ((self->state_.fetch_or(is_draining, std::memory_order_acq_rel) & idle) != 0) {
                self->either_->request_stop();
            }
        }
    };

    std::stop_token draining_;
    std::stop_token token_;
    std::atomic<std::uint8_t> state_{0};
    std::optional<linked_stop<1>> either_;
    std::optional<std::stop_callback<notice>> on_drain_;
};

} // namespace rota::http
