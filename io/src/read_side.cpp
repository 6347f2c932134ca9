#include "read_side.hpp"

#include <algorithm>
#include <cerrno>
#include <span>
#include <system_error>
#include <utility>

#include <spdlog/spdlog.h>

namespace rota::io {
namespace {

thread_local const read_side* driven_here = nullptr;

/// How long the work of one worker may keep the receiving thread from its ring before the rest goes
/// to the worker.
constexpr auto lent_run_limit = std::chrono::microseconds(200);

/// More workers than this that are posted to between two turns are woken at once.
constexpr std::size_t posted_max = 64;

/// After a lent run that took so long that somebody else had to go on, the worker runs on its own
/// thread for a while.
constexpr auto kept_off_for = std::chrono::minutes(1);
constexpr int times_seen_max = 5;

constexpr std::uint64_t run_under_way = 1;
constexpr std::uint64_t one_run = 2;
constexpr std::uint64_t one_driver = std::uint64_t{1} << 48;

} // namespace

read_side::read_side(backend_factory make_backend, std::chrono::nanoseconds inline_budget)
    : make_backend_(std::move(make_backend)), backend_(make_backend_()), to_wake_(backend_.get()),
      inline_budget_(inline_budget) {
    posted_.reserve(posted_max);
}

const read_side* read_side::play_driver_of(const read_side* next) noexcept {
    return std::exchange(driven_here, next);
}

void read_side::request(operation& op, std::uint32_t bits) noexcept {
    if (op.wanted.fetch_or(bits, std::memory_order_acq_rel) != 0)
        return; // it is in the inbox already
    requests_.push(op.node);
    if (driven_here != this)
        wake_if_asleep();
}

void read_side::wake() noexcept {
    woken_.store(true, std::memory_order_seq_cst);
    wake_if_asleep();
}

void read_side::wake_if_asleep() noexcept {
    if (sleeping_.load(std::memory_order_seq_cst) &&
        sleeping_.exchange(false, std::memory_order_seq_cst)) {
        to_wake_.load(std::memory_order_acquire)->wake();
    }
}

bool read_side::is_driver() const noexcept { return driven_here == this; }

void read_side::enter_thread() {
    // A ring has one issuer for ever. A worker that ended and was started again has a new thread,
    // so it gets a new ring; nothing is in flight in the old one.
    if (driver_ != std::thread::id{}) {
        backend_ = make_backend_();
        to_wake_.store(backend_.get(), std::memory_order_release);
    }
    driver_ = std::this_thread::get_id();
    driven_here = this;
    backend_->enter_thread();
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
    seen_times_ = 0; // unless somebody can take over now, it is asked again later
    return true;
}

bool read_side::take_over() {
    std::unique_ptr<read_backend> fresh;
    const std::uint64_t seen = drive_.load(std::memory_order_acquire);
    if ((seen & run_under_way) == 0)
        return false;
    // The driver is in a lent run, and by `seen` it has not changed since: it can be read.
    if (!backend_->any_thread()) {
        if (backend_->holds_completions())
            return false;
        fresh = backend_->stand_in();
    }
    std::uint64_t expected = seen;
    if (!drive_.compare_exchange_strong(expected, (seen & ~run_under_way) + one_driver,
                                        std::memory_order_acq_rel))
        return false;
    driver_ = std::this_thread::get_id();
    driven_here = this;
    kept_off_.push_back({lent_[next_lent_ - 1], std::chrono::steady_clock::now() + kept_off_for});
    for (worker* const w : std::span(lent_).subspan(next_lent_))
        w->pass_on();
    lent_.clear();
    if (fresh) {
        is_left_.store(true, std::memory_order_relaxed);
        left_ = std::exchange(backend_, std::move(fresh));
        to_wake_.store(backend_.get(), std::memory_order_release);
        backend_->enter_thread();
        arm_all_anew();
    }
    return true;
}

void read_side::arm_all_anew() {
    operation* next = std::exchange(first_armed_, nullptr);
    while (next != nullptr) {
        operation& op = *next;
        next = op.next_armed;
        if (op.group != nullptr)
            op.group->attached_to = backend_.get();
        if (op.cancelling) {
            op.armed = false;
            add(op, -ECANCELED, 0);
        } else {
            arm(op);
        }
    }
}

void read_side::link(operation& op) noexcept {
    op.armed = true;
    op.cancelling = false;
    op.previous_armed = nullptr;
    op.next_armed = first_armed_;
    if (first_armed_ != nullptr)
        first_armed_->previous_armed = &op;
    first_armed_ = &op;
}

void read_side::unlink(operation& op) noexcept {
    if (!op.armed)
        return;
    op.armed = false;
    (op.previous_armed != nullptr ? op.previous_armed->next_armed : first_armed_) = op.next_armed;
    if (op.next_armed != nullptr)
        op.next_armed->previous_armed = op.previous_armed;
}

void read_side::hand_over_requests() {
    run_queue queue;
    while (requests_.drain_into(queue) != 0) {
        while (runnable* const next = queue.pop()) {
            operation& op = static_cast<operation::link*>(next)->op;
            const std::uint32_t bits = op.wanted.exchange(0, std::memory_order_acq_rel);
            if ((bits & operation::want_cancel) == 0) {
                arm(op);
            } else if (op.armed) {
                op.cancelling = true;
                backend_->cancel(op);
            } else if ((bits & operation::want_arm) != 0) {
                add(op, -ECANCELED, 0);
            }
            if ((bits & operation::want_cancel) != 0) {
                add(op, 0, completion_flags::more | completion_flags::cancel_seen);
            }
        }
    }
}

void read_side::arm(operation& op) {
    try {
        if (op.group != nullptr && op.group->attached_to != backend_.get()) {
            // A kernel begins at the ring's beginning; who fills from here goes on where it is.
            if (op.group->attached_to != nullptr && !backend_->any_thread())
                op.group->reset();
            backend_->attach(*op.group);
            op.group->attached_to = backend_.get();
        }
    } catch (const std::system_error& e) {
        add(op, -e.code().value(), 0);
        return;
    }
    link(op);
    try {
        backend_->arm(op);
    } catch (const std::system_error& e) {
        unlink(op);
        add(op, -e.code().value(), 0);
    }
}

void read_side::add(operation& op, std::int32_t result, std::uint32_t flags) {
    const std::size_t index = op.home.index();
    if (index >= batches_.size()) {
        touched_.clear(); // the batches move: collect the touched ones again
        batches_.resize(index + 1);
        for (batch& b : batches_) {
            if (!b.completions.empty())
                touched_.push_back(&b);
        }
    }
    batch& b = batches_[index];
    if (b.completions.empty()) {
        b.home = &op.home;
        touched_.push_back(&b);
    }
    b.completions.push_back({.handler = &op, .result = result, .flags = flags});
}

read_side::time_point read_side::earliest_lent_deadline() const noexcept {
    time_point earliest = time_point::max();
    for (const worker* w : watched_) {
        // Who is awake looks at his timers himself before he sleeps.
        if (w->state() == baton::parked)
            earliest = std::min(earliest, w->lent_deadline());
    }
    return earliest;
}

std::size_t read_side::turn(time_point until, bool lend) {
    if (driven_here != this)
        enter_thread();
    hand_over_requests();
    if (lend)
        until = std::min(until, earliest_lent_deadline());
    if (!touched_.empty() || !posted_.empty())
        until = time_point{};
    sleeping_.store(true, std::memory_order_seq_cst);
    if (!requests_.empty() || woken_.load(std::memory_order_seq_cst))
        until = time_point{};
    std::size_t total = 0;
    for (std::size_t count = reaped_.size(); count == reaped_.size(); until = time_point{}) {
        count = backend_->wait(reaped_, until);
        sleeping_.store(false, std::memory_order_relaxed);
        if (woken_.load(std::memory_order_relaxed))
            woken_.store(false, std::memory_order_seq_cst);
        total += count;
        for (const op_completion& c : std::span(reaped_).first(count)) {
            if ((c.flags & completion_flags::more) == 0)
                unlink(*c.op);
            add(*c.op, c.result, c.flags);
        }
    }
    dispatch(lend);
    return total;
}

void read_side::dispatch(bool lend) {
    for (batch* b : touched_) {
        worker& w = *b->home;
        const std::size_t events = b->completions.size();
        w.deliver(b->completions.data(), events);
        b->completions.clear();
        if (lend) // otherwise the only worker is the one whose thread this is
            lend_or_wake(w, events);
    }
    touched_.clear();
    if (!lend)
        return;
    for (worker* w : posted_)
        lend_or_wake(*w, std::max<std::size_t>(1, w->load().runnable));
    posted_.clear();
    lend_for_timers();
    if (!lent_.empty())
        run_lent();
}

void read_side::run_lent() {
    read_backend* const mine = backend_.get();
    next_lent_ = 0;
    while (next_lent_ < lent_.size()) {
        if (run_lent_one(*lent_[next_lent_++]))
            continue;
        // Another thread is the driver now. What this one has asked for without waking it, it sees.
        driven_here = nullptr;
        if (!mine->any_thread()) {
            mine->leave();
            is_left_.store(false, std::memory_order_relaxed);
        }
        wake();
        return;
    }
    lent_.clear();
}

/// False if another thread has become the driver meanwhile.
bool read_side::run_lent_one(worker& w) {
    std::uint64_t run = drive_.load(std::memory_order_relaxed) + run_under_way;
    drive_.store(run, std::memory_order_release);
    w.run_lent(lent_run_limit);
    return drive_.compare_exchange_strong(run, run - run_under_way + one_run,
                                          std::memory_order_acq_rel);
}

void read_side::lend_or_wake(worker& w, std::size_t events) {
    const auto predicted = w.cost_per_event() * static_cast<std::int64_t>(events);
    if (predicted <= inline_budget_ && try_lend(w)) {
        lent_.push_back(&w);
    } else {
        w.notify();
    }
}

bool read_side::is_kept_off(const worker& w) noexcept {
    if (kept_off_.empty())
        return false;
    const time_point now = std::chrono::steady_clock::now();
    std::erase_if(kept_off_, [now](const kept_off& k) { return k.until <= now; });
    return std::ranges::find(kept_off_, &w, &kept_off::who) != kept_off_.end();
}

bool read_side::try_lend(worker& w) {
    if (is_kept_off(w) || !w.try_lend())
        return false;
    if (std::ranges::find(watched_, &w) == watched_.end())
        watched_.push_back(&w);
    return true;
}

void read_side::lend_for_timers() {
    const time_point earliest = earliest_lent_deadline();
    if (earliest == time_point::max() || earliest > std::chrono::steady_clock::now())
        return;
    for (worker* w : watched_) {
        if (w->lent_deadline() > std::chrono::steady_clock::now())
            continue;
        if (is_kept_off(*w)) {
            w->notify();
        } else if (w->try_lend()) {
            lent_.push_back(w);
        }
    }
}

} // namespace rota::io
