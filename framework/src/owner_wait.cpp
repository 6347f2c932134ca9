#include <rota/owner_wait.hpp>

#include <rota/errors.hpp>
#include <rota/worker.hpp>

namespace rota {

owner_wait::owner_wait(const char* what, std::source_location where) noexcept
    : runnable(&owner_wait::run_withdraw), what_(what), where_(where) {}

void owner_wait::finish() {
    on_stop_.reset(); // waits for a callback that is under way on another thread
    if (outcome_ == outcome::withdrawn) {
        throw operation_cancelled();
    }
}

void owner_wait::stopper::operator()() const noexcept {
    // Nothing is handed over by this exchange: what the runnable needs was there before the
    // callback was registered, and posting releases it.
    state seen = state::waiting;
    if (self->state_.compare_exchange_strong(seen, state::stopping, std::memory_order_relaxed)) {
        self->owner_->home().post(*self);
    }
}

void owner_wait::complete() noexcept {
    ROTA_CHECK(owner_->home().is_held(), "a wait is completed under the baton");
    ROTA_CHECK(outcome_ == outcome::none || outcome_ == outcome::withdrawing,
               "a wait is completed once, and not after it was withdrawn");
    const bool posted_has_run = outcome_ == outcome::withdrawing;
    outcome_ = outcome::completed;
    state seen = state::waiting;
    if (state_.compare_exchange_strong(seen, state::settled, std::memory_order_relaxed) ||
        posted_has_run) {
        owner_->make_ready();
    }
    // Otherwise the posted runnable is on its way and makes the routine ready.
}

void owner_wait::complete_here() noexcept {
    ROTA_CHECK(owner_->home().is_held(), "a wait is completed under the baton");
    ROTA_CHECK(outcome_ == outcome::none, "a wait is completed once, and not after its withdrawal");
    outcome_ = outcome::completed;
    state seen = state::waiting;
    if (state_.compare_exchange_strong(seen, state::settled, std::memory_order_relaxed))
        owner_->run_now();
    // Otherwise the posted runnable is on its way and makes the routine ready.
}

void owner_wait::withdrawn() noexcept {
    ROTA_CHECK(owner_->home().is_held(), "a wait is withdrawn under the baton");
    ROTA_CHECK(outcome_ == outcome::withdrawing, "only what is being withdrawn has been withdrawn");
    outcome_ = outcome::withdrawn;
    owner_->make_ready();
}

void owner_wait::run_withdraw(runnable& self) noexcept {
    auto& wait = static_cast<owner_wait&>(self);
    if (wait.outcome_ == outcome::none) {
        wait.outcome_ = outcome::withdrawing;
        if (!wait.withdraw()) {
            return;
        }
        wait.outcome_ = outcome::withdrawn;
    }
    wait.owner_->make_ready();
}

} // namespace rota
