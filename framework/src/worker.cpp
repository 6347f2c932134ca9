#include <rota/worker.hpp>

#include <algorithm>
#include <thread>

#include <unistd.h>

#include <rota/stall_watch.hpp>

namespace rota {
namespace {

thread_local worker* held = nullptr;
thread_local int own_thread = 0;                        // man 2 gettid, once it has been asked for
thread_local std::vector<worker*>* posted_to = nullptr; // while wakes are put off

constexpr std::size_t steps_per_turn = 64;
constexpr std::int64_t never =
    std::chrono::steady_clock::time_point::max().time_since_epoch().count();

class steady_time final : public time_source {
public:
    time_point now() const noexcept override { return std::chrono::steady_clock::now(); }
};

std::int64_t count_of(worker::time_point t) noexcept { return t.time_since_epoch().count(); }

} // namespace

const time_source& time_source::steady() noexcept {
    static const steady_time instance;
    return instance;
}

std::string_view to_string(baton state) noexcept {
    switch (state) {
    case baton::parked:
        return "parked";
    case baton::running:
        return "running";
    case baton::lent:
        return "lent";
    }
    return "unknown";
}

worker::worker(std::size_t index, const time_source& time, std::unique_ptr<parking> sleeper)
    : index_(index), time_(time), parking_(std::move(sleeper)), timers_(time.now()),
      turn_time_(time.now()), lent_deadline_ns_(never), sleep_deadline_ns_(never) {}

worker::~worker() {
    // What a post() has made runnable may have ended, and let the worker go, before the post() has
    // returned on its thread: it has at most a wake-up left to do.
    while (inbox_count_.load(std::memory_order_acquire) >= one_visit)
        std::this_thread::yield();
}

worker* worker::current() noexcept { return held; }

worker* worker::hold() noexcept {
    worker* const before = held;
    held = this;
    if (own_thread == 0)
        own_thread = ::gettid();
    thread_.store(own_thread, std::memory_order_relaxed);
    return before;
}

void worker::restore(worker* previous) noexcept { held = previous; }

void worker::post(runnable& r) noexcept {
    if (is_current()) {
        ready_.push(r);
        count_queued(1);
        return;
    }
    const visit here(*this, 1);
    inbox_.push(r);
    if (posted_to == nullptr || !note_posted())
        notify();
}

bool worker::note_posted() noexcept {
    if (baton_.load(std::memory_order_seq_cst) != baton::parked)
        return true; // the holder looks at the inbox before it gives the baton back
    if (std::ranges::find(*posted_to, this) == posted_to->end()) {
        if (posted_to->size() == posted_to->capacity())
            return false;
        posted_to->push_back(this);
    }
    return true;
}

worker::put_off_wakes::put_off_wakes(std::vector<worker*>& posted) noexcept { posted_to = &posted; }

worker::put_off_wakes::~put_off_wakes() { posted_to = nullptr; }

/// Takes the baton if nobody has it. Each change from parked goes through here.
bool worker::take(baton as) noexcept {
    baton seen = baton::parked;
    if (!baton_.compare_exchange_strong(seen, as, std::memory_order_seq_cst))
        return false;
    if (watch_ != nullptr)
        watch_->worker_woke();
    return true;
}

void worker::notify() noexcept {
    if (baton_.load(std::memory_order_seq_cst) == baton::parked && take(baton::running))
        parking_->notify();
}

worker::pulse worker::read_pulse() const noexcept {
    const std::uint64_t steps = steps_.load(std::memory_order_acquire);
    return {.step = step_.load(std::memory_order_relaxed),
            .steps = steps,
            .thread = thread_.load(std::memory_order_relaxed)};
}

worker_load worker::load() const noexcept {
    const auto at_least_zero = [](std::int64_t n) {
        return static_cast<std::size_t>(std::max<std::int64_t>(n, 0));
    };
    const std::int64_t posted = inbox_count_.load(std::memory_order_relaxed) % one_visit;
    return {.runnable = at_least_zero(ready_count_.load(std::memory_order_relaxed) + posted) +
                        completions_.size(),
            .connections = at_least_zero(connections_.load(std::memory_order_relaxed))};
}

worker::time_point worker::lent_deadline() const noexcept {
    return time_point(time_point::duration(lent_deadline_ns_.load(std::memory_order_relaxed)));
}

void worker::count_queued(std::int64_t change) noexcept {
    // One writer, the baton holder: no read-modify-write needed.
    ready_count_.store(ready_count_.load(std::memory_order_relaxed) + change,
                       std::memory_order_relaxed);
}

bool worker::has_work() const noexcept {
    return !ready_.empty() || !inbox_.empty() || !completions_.empty();
}

std::size_t worker::turn(std::size_t steps) noexcept {
    ROTA_CHECK(is_held(), "the holder of the baton takes turns");
    turn_time_ = time_.now();
    budget_.begin_turn(turn_time_, turn_until_);
    const std::size_t events = completions_.drain();
    timers_.advance(turn_time_);
    if (const unsigned posted = inbox_.drain_into(ready_); posted != 0) {
        inbox_count_.fetch_sub(posted, std::memory_order_relaxed);
        count_queued(posted);
    }
    std::size_t ran = 0;
    while (ran < steps && !budget_.spent()) {
        runnable* const next = ready_.pop();
        if (next == nullptr)
            break;
        count_queued(-1);
        step_.store(next, std::memory_order_relaxed);
        steps_.store(steps_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
        budget_.renew();
        (*next)();
        ++ran;
    }
    step_.store(nullptr, std::memory_order_relaxed);
    if (events != 0 || ran != 0)
        note_cost(std::max(events, ran), time_.now() - turn_time_);
    return ran;
}

void worker::end_turn() noexcept {
    if (hook_ != nullptr) {
        hook_->after_turn(false);
    }
}

void worker::note_cost(std::size_t events, std::chrono::nanoseconds spent) noexcept {
    // Exponentially weighted with alpha = 0.05, once for each event, bounded so that one batch
    // counts as at most 20.
    const double weight = 0.05 * static_cast<double>(std::min<std::size_t>(events, 20));
    const double each = static_cast<double>(spent.count()) / static_cast<double>(events);
    const auto before = static_cast<double>(cost_ns_.load(std::memory_order_relaxed));
    cost_ns_.store(static_cast<std::int64_t>(before + weight * (each - before)),
                   std::memory_order_relaxed);
}

void worker::run() noexcept {
    worker* const before = hold();
    for (;;) {
        turn(steps_per_turn);
        end_turn();
        if (has_work()) {
            continue;
        }
        if (must_end_kept()) {
            end_kept();
            continue;
        }
        if (end_if_drained()) {
            break;
        }
        sleep();
    }
    restore(before);
}

bool worker::add_place() noexcept {
    if ((population_.fetch_add(1, std::memory_order_seq_cst) & ended_bit) == 0) {
        return true;
    }
    population_.fetch_sub(1, std::memory_order_seq_cst);
    return false;
}

void worker::remove_place() noexcept {
    ROTA_CHECK(places() != 0, "a place is given back once");
    if (is_current()) {
        give_place_back();
    } else {
        const visit here(*this);
        give_place_back();
    }
}

void worker::give_place_back() noexcept {
    if (population_.fetch_sub(1, std::memory_order_seq_cst) == (stopping_bit | 1)) {
        notify(); // run() may return now; a place that was not used is given back by any thread
    }
}

bool worker::drained() const noexcept {
    return population_.load(std::memory_order_seq_cst) == stopping_bit;
}

void worker::keep(kept_object& object) noexcept {
    ROTA_CHECK(is_held(), "the holder of the baton keeps objects");
    object.next_ = kept_;
    kept_ = &object;
    keeps_.store(true, std::memory_order_relaxed);
}

void worker::drop(kept_object& object) noexcept {
    ROTA_CHECK(is_held(), "the holder of the baton drops objects");
    for (kept_object** at = &kept_; *at != nullptr; at = &(*at)->next_) {
        if (*at == &object) {
            *at = object.next_;
            break;
        }
    }
    keeps_.store(kept_ != nullptr, std::memory_order_relaxed);
}

void worker::end_kept() noexcept {
    while (kept_ != nullptr) {
        kept_object& latest = *kept_;
        drop(latest);
        latest.end();
    }
}

bool worker::end_if_drained() noexcept {
    std::uint64_t seen = stopping_bit;
    return drained() && population_.compare_exchange_strong(seen, stopping_bit | ended_bit);
}

void worker::stop() noexcept {
    population_.fetch_or(stopping_bit, std::memory_order_seq_cst);
    notify();
}

bool worker::try_resume() noexcept {
    std::uint64_t seen = population_.load();
    while ((seen & ended_bit) == 0) {
        if (population_.compare_exchange_weak(seen, seen & ~stopping_bit))
            return true;
    }
    return false;
}

void worker::restart() noexcept {
    ROTA_CHECK(ended(), "only a worker that has ended is started again");
    population_.fetch_and(~(stopping_bit | ended_bit));
}

bool worker::resume() noexcept {
    const bool goes_on = try_resume();
    if (!goes_on)
        restart();
    return goes_on;
}

void worker::retire() noexcept {
    ROTA_CHECK(places() == 0, "nothing is left on a worker that is retired");
    population_.fetch_or(stopping_bit | ended_bit);
}

void worker::sleep() noexcept {
    const time_point deadline = timers_.next();
    if (deadline <= turn_time_) // one that has come since ends the wait at once
        return;
    sleep_deadline_ns_.store(count_of(deadline), std::memory_order_relaxed);
    lent_deadline_ns_.store(never, std::memory_order_relaxed);
    restore(nullptr);
    baton_.store(baton::parked, std::memory_order_seq_cst);
    const bool wanted = !inbox_.empty() || !completions_.empty() || drained() || must_end_kept();
    if (!wanted || !take(baton::running)) {
        await_baton(deadline);
    }
    hold();
}

void worker::await_baton(time_point deadline) noexcept {
    // A permit means that the word is `running`, for us. Without one the deadline has passed.
    while (!parking_->wait_until(deadline)) {
        if (take(baton::running))
            return;
        // `running`: the permit is on its way. `lent`: the read side will soon give the baton back.
        deadline = state() == baton::running ? time_point::max()
                                             : time_.now() + std::chrono::milliseconds(1);
    }
}

bool worker::try_lend() noexcept {
    return baton_.load(std::memory_order_relaxed) == baton::parked && take(baton::lent);
}

void worker::pass_on() noexcept {
    ROTA_CHECK(state() == baton::lent, "the lender gives the baton on");
    baton_.store(baton::running, std::memory_order_seq_cst);
    parking_->notify();
}

void worker::run_lent(std::chrono::nanoseconds budget) noexcept {
    ROTA_CHECK(state() == baton::lent, "a lent run has the baton");
    worker* const before = hold();
    const time_point until = deadline_after(time_.now(), budget);
    for (;;) {
        turn_until_ = until;
        turn(steps_per_turn);
        turn_until_ = time_point::max();
        const bool over = time_.now() >= until;
        if (has_work() && !over) {
            continue;
        }
        if (hook_ != nullptr) {
            hook_->after_turn(true);
        }
        if (has_work()) { // left over, or made by the hook
            if (!over) {
                continue;
            }
            // Too long for the read side: the rest is for the worker's own thread.
            restore(before);
            pass_on();
            return;
        }
        const std::int64_t next = count_of(timers_.next());
        const bool known = next >= sleep_deadline_ns_.load(std::memory_order_relaxed);
        lent_deadline_ns_.store(known ? never : next, std::memory_order_relaxed);
        restore(before);
        baton_.store(baton::parked, std::memory_order_seq_cst);
        if (drained() || must_end_kept()) {
            notify(); // only the worker's own thread can end it
            return;
        }
        if ((inbox_.empty() && completions_.empty()) || !take(baton::lent)) {
            return;
        }
        hold();
    }
}

} // namespace rota
