#include "shared_round.hpp"

#include <utility>

#include <rota/errors.hpp>
#include <rota/with_timeout.hpp>
#include <rota/worker.hpp>

namespace jobs {
namespace {

rota::task<void> wait_for(std::shared_ptr<rota::event> what) { co_await what->wait(); }

} // namespace

rota::task<void> shared_round::begin() { co_await wanted_.wait(); }

void shared_round::end() {
    auto next = std::make_shared<rota::event>();
    std::shared_ptr<rota::event> over;
    {
        const std::lock_guard guard(lock_);
        over = std::exchange(done_, std::move(next));
        ended_at_ = clock::now();
    }
    over->set();
}

rota::task<bool> shared_round::wait(clock::duration age_max, clock::duration patience) {
    std::shared_ptr<rota::event> round;
    {
        const std::lock_guard guard(lock_);
        if (ended_at_ != clock::time_point() && clock::now() < ended_at_ + age_max)
            co_return true;
        round = done_;
    }
    wanted_.notify();
    bool there = true;
    try {
        co_await rota::with_timeout(patience, wait_for(std::move(round)));
    } catch (const rota::timed_out&) {
        there = false;
    }
    co_return there;
}

} // namespace jobs
