// The end of a driver: it is held up in a lent run, and another thread goes on.

#include "read_side.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace rota::io {
namespace {

/// How long the work of one worker may keep the receiving thread from its ring before the rest goes
/// to the worker.
constexpr auto lent_run_limit = std::chrono::microseconds(200);

/// After a lent run that took so long that another thread had to go on, the worker runs on its own
/// thread for a while.
constexpr auto kept_off_for = std::chrono::minutes(1);
constexpr int times_seen_max = 5;

constexpr std::uint64_t run_under_way = 1;
constexpr std::uint64_t one_run = 2;
constexpr std::uint64_t one_driver = std::uint64_t{1} << 48;

} // namespace

/// False if another thread has become the driver meanwhile.
bool read_side::run_lent_one(worker& w) {
    std::uint64_t run = drive_.load(std::memory_order_relaxed) + run_under_way;
    drive_.store(run, std::memory_order_release);
    w.run_lent(lent_run_limit);
    return drive_.compare_exchange_strong(run, run - run_under_way + one_run,
                                          std::memory_order_acq_rel);
}

bool read_side::overstayed() noexcept {
    const std::uint64_t now = drive_.load(std::memory_order_relaxed);
    if ((now & run_under_way) == 0 || now != seen_run_) {
        seen_run_ = now;
        seen_times_ = 0;
        return false;
    }
    if (++seen_times_ < times_seen_max)
        return false;
    seen_times_ = 0; // unless a thread can take over now, it is asked again later
    return true;
}

bool read_side::take_over() {
    const std::uint64_t seen = drive_.load(std::memory_order_acquire);
    if ((seen & run_under_way) == 0)
        return false;
    // The driver is in a lent run, and by `seen` it has not changed since: it can be read.
    std::unique_ptr<read_backend> fresh;
    if (!backend_->any_thread()) {
        if (backend_->holds_completions())
            return false;
        fresh = make_backend_();
        fresh->enter_thread();
        const std::lock_guard guard(lock_);
        left_.reserve(left_.size() + 1);
    }
    std::uint64_t expected = seen;
    if (!drive_.compare_exchange_strong(expected, (seen & ~run_under_way) + one_driver,
                                        std::memory_order_acq_rel))
        return false;
    // From here on nothing throws: there is room for everything.
    driver_ = std::this_thread::get_id();
    play_driver_of(this);
    kept_off_.push_back({lent_[next_lent_ - 1], std::chrono::steady_clock::now() + kept_off_for});
    for (worker* const w : std::span(lent_).subspan(next_lent_))
        w->pass_on();
    lent_.clear();
    if (fresh) {
        left_count_.fetch_add(1, std::memory_order_relaxed);
        {
            const std::lock_guard guard(lock_);
            left_.push_back(std::exchange(backend_, std::move(fresh)));
        }
        ++generation_;
        buffers_home_ = false;
        request_all_anew();
    }
    return true;
}

/// Everything that was armed on the backend before is asked for again, in the driver's next turn.
void read_side::request_all_anew() noexcept {
    operation* next = std::exchange(first_armed_, nullptr);
    while (next != nullptr) {
        operation& op = *next;
        next = op.next_armed;
        op.armed = false;
        op.carried_over = true;
        request(op, op.cancelling ? operation::want_end : operation::want_arm);
    }
}

/// Ends the backend that another driver has left to the calling thread, if it has.
void read_side::leave(const read_backend* mine) noexcept {
    std::unique_ptr<read_backend> ended;
    {
        const std::lock_guard guard(lock_);
        const auto place = std::ranges::find(left_, mine, &std::unique_ptr<read_backend>::get);
        if (place == left_.end())
            return; // the new driver goes on with it
        ended = std::move(*place);
        left_.erase(place);
    }
    ended->leave();
    left_count_.fetch_sub(1, std::memory_order_relaxed);
}

} // namespace rota::io
