#include <rota/with_timeout.hpp>

namespace rota::detail {

time_limit::time_limit(worker& home, const std::stop_token& parent,
                       timer_wheel::time_point deadline)
    : timer(&time_limit::fire), home_(home), parent_(parent), stop_(parent) {
    home_.timers().arm(*this, deadline);
}

time_limit::~time_limit() { home_.timers().disarm(*this); }

void time_limit::throw_if_timed_out() const {
    if (expired_ && !parent_.stop_requested()) {
        throw timed_out();
    }
}

void time_limit::fire(timer& self) noexcept {
    auto& limit = static_cast<time_limit&>(self);
    limit.expired_ = true;
    limit.stop_.request_stop();
}

} // namespace rota::detail
