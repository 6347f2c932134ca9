#include "read_side.hpp"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <new>
#include <span>
#include <system_error>
#include <utility>

#include <rota/check.hpp>
#include <rota/io/log.hpp>

namespace rota::io {
namespace {

thread_local const read_side* driven_here = nullptr;

/// More workers than this that are posted to between two turns are woken at once.
constexpr std::size_t received_posts_max = 64;

/// Before what lacked memory is tried again.
constexpr auto pause_when_short = std::chrono::milliseconds(5);

} // namespace

read_side::read_side(backend_factory make_backend,
                     std::optional<std::chrono::nanoseconds> inline_budget)
    : make_backend_(std::move(make_backend)), inline_budget_(inline_budget),
      backend_(make_backend_()) {
    posted_.reserve(received_posts_max);
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
        const std::lock_guard guard(lock_);
        backend_->wake();
    }
}

bool read_side::is_driver() const noexcept { return driven_here == this; }

bool read_side::enter_thread() {
    try {
        // A ring has one issuer for ever. A worker that ended and was started again has a new
        // thread, so it gets a new ring; nothing is in flight in the old one.
        if (driver_ != std::thread::id{}) {
            ROTA_CHECK(first_armed_ == nullptr, "nothing is armed when the driver's thread ends");
            std::unique_ptr<read_backend> fresh = make_backend_();
            fresh->enter_thread();
            const std::lock_guard guard(lock_);
            backend_.swap(fresh);
            ++generation_;
        } else {
            backend_->enter_thread();
        }
    } catch (const std::exception& e) {
        if (!std::exchange(said_so_, true))
            log::error("a thread has nothing to receive with, and tries again: {}", e.what());
        return false;
    }
    said_so_ = false;
    driver_ = std::this_thread::get_id();
    driven_here = this;
    return true;
}

void read_side::link(operation& op) noexcept {
    ROTA_CHECK(!op.armed, "an operation is armed once");
    op.armed = true;
    op.cancelling = false;
    op.previous_armed = nullptr;
    op.next_armed = first_armed_;
    if (first_armed_ != nullptr)
        first_armed_->previous_armed = &op;
    first_armed_ = &op;
}

void read_side::unlink(operation& op) noexcept {
    ROTA_CHECK(op.armed, "what ends was armed");
    op.armed = false;
    op.carried_over = false;
    (op.previous_armed != nullptr ? op.previous_armed->next_armed : first_armed_) = op.next_armed;
    if (op.next_armed != nullptr)
        op.next_armed->previous_armed = op.previous_armed;
}

void read_side::hand_over_requests() {
    run_queue queue;
    while (!is_short_ && requests_.drain_into(queue) != 0) {
        while (runnable* const next = queue.pop()) {
            operation& op = static_cast<operation::link*>(next)->op;
            // At most an end and the notice of a cancel.
            batch* const to = is_short_ ? nullptr : room_for(op.home, 2);
            if (to == nullptr) {
                requests_.push(op.node);
            } else {
                look_at_request(op, *to);
            }
        }
    }
}

void read_side::look_at_request(operation& op, batch& to) {
    const std::uint32_t bits = op.wanted.exchange(0, std::memory_order_acq_rel);
    const bool cancel = (bits & operation::want_cancel) != 0;
    if ((bits & operation::want_end) != 0) {
        ROTA_CHECK(!op.armed, "what a backend was left with is not armed");
        op.carried_over = false;
        add(to, op, -ECANCELED, 0);
    } else if (!cancel) {
        arm(op, to);
    } else if (op.armed) {
        try {
            backend_->cancel(op);
            op.cancelling = true;
        } catch (const std::bad_alloc&) {
            is_short_ = true;
            request(op, bits);
            return;
        }
    } else if ((bits & operation::want_arm) != 0) {
        op.carried_over = false;
        add(to, op, -ECANCELED, 0);
    }
    if (cancel)
        add(to, op, 0, completion_flags::more | completion_flags::cancel_seen);
}

void read_side::arm(operation& op, batch& to) {
    ROTA_CHECK(!op.armed, "only what is idle is armed");
    std::int32_t error = 0;
    try {
        if (op.group != nullptr && op.group->attached_to != generation_) {
            // A kernel begins at the ring's beginning; a filler of ours goes on where it is.
            if (op.group->attached_to != 0 && buffers_home_ && !backend_->any_thread())
                op.group->reset();
            backend_->attach(*op.group);
            op.group->attached_to = generation_;
        }
        backend_->arm(op);
        link(op);
        return;
    } catch (const std::system_error& e) {
        error = e.code().value();
    } catch (const std::bad_alloc&) {
        error = ENOMEM;
    }
    op.carried_over = false;
    add(to, op, -error, 0);
}

read_side::batch* read_side::make_room(std::size_t index, std::size_t count) noexcept {
    try {
        if (index >= batches_.size()) {
            touched_.reserve(index + 1);
            batches_.resize(index + 1);
        }
        std::vector<completion>& all = batches_[index].completions;
        if (all.capacity() - all.size() < count)
            all.reserve(std::max(2 * all.capacity(), all.size() + count));
        return &batches_[index];
    } catch (const std::bad_alloc&) {
        is_short_ = true;
        return nullptr;
    }
}

/// There is room for it.
void read_side::add(batch& to, operation& op, std::int32_t result, std::uint32_t flags) noexcept {
    if (to.completions.empty()) {
        to.home = &op.home;
        touched_.push_back(op.home.index());
    }
    to.completions.push_back({.handler = &op, .result = result, .flags = flags});
}

read_side::time_point read_side::earliest_lent_deadline() const noexcept {
    time_point earliest = time_point::max();
    for (const worker* w : watched_) {
        // One that is awake looks at its timers itself before it sleeps.
        if (w->state() == baton::parked)
            earliest = std::min(earliest, w->lent_deadline());
    }
    return earliest;
}

std::size_t read_side::turn(time_point until, bool lend) {
    if (driven_here != this && !enter_thread()) {
        std::this_thread::sleep_until(
            std::min(until, std::chrono::steady_clock::now() + pause_when_short));
        return 0;
    }
    is_short_ = false;
    hand_over_requests();
    if (lend)
        until = std::min(until, earliest_lent_deadline());
    const std::size_t total = reap(until, lend);
    if (!touched_.empty() || !posted_.empty())
        deliver(lend);
    if (is_short_)
        std::this_thread::sleep_for(pause_when_short);
    if (lend)
        lend_for_timers();
    if (!lent_.empty())
        run_lent();
    return total; // another thread may be the driver now
}

/// Waits, and delivers everything that is there, or sorts it by worker if it is for several.
std::size_t read_side::reap(time_point until, bool lend) {
    if (next_reaped_ != reaped_count_ && !sort_reaped()) // left by a turn that was short of memory
        return 0;
    if (!touched_.empty() || !posted_.empty())
        until = time_point{};
    sleeping_.store(true, std::memory_order_seq_cst);
    if (!requests_.empty() || woken_.load(std::memory_order_seq_cst))
        until = time_point{};
    std::size_t total = 0;
    for (;;) {
        next_reaped_ = 0;
        still_linked_ = true;
        reaped_count_ = backend_->wait(reaped_, until);
        until = time_point{};
        sleeping_.store(false, std::memory_order_relaxed);
        if (woken_.load(std::memory_order_relaxed))
            woken_.store(false, std::memory_order_seq_cst);
        total += reaped_count_;
        const bool all = reaped_count_ != reaped_.size();
        if (all && touched_.empty() && deliver_to_one(lend))
            return total;
        if (!sort_reaped() || all)
            return total;
    }
}

/// If all that has been reaped is for one worker, which is the usual case, delivers it as it is.
bool read_side::deliver_to_one(bool lend) {
    if (reaped_count_ == 0)
        return true;
    worker& home = reaped_[0].op->home;
    for (std::size_t i = 0; i < reaped_count_; ++i) {
        const op_completion& c = reaped_[i];
        if (&c.op->home != &home)
            return false;
        for_one_[i] = {.handler = c.op, .result = c.result, .flags = c.flags};
    }
    // An operation may go as soon as its end has been delivered.
    for (std::size_t i = 0; i < reaped_count_; ++i) {
        if ((reaped_[i].flags & completion_flags::more) == 0)
            unlink(*reaped_[i].op);
    }
    still_linked_ = false;
    try {
        home.deliver(for_one_.data(), reaped_count_);
    } catch (const std::bad_alloc&) {
        is_short_ = true;
        return false;
    }
    next_reaped_ = reaped_count_;
    if (lend) // otherwise the only worker is the one whose thread this is
        lend_or_wake(home, reaped_count_);
    return true;
}

bool read_side::sort_reaped() noexcept {
    for (; next_reaped_ < reaped_count_; ++next_reaped_) {
        const op_completion& c = reaped_[next_reaped_];
        batch* const to = room_for(c.op->home, 1);
        if (to == nullptr)
            return false;
        if (still_linked_ && (c.flags & completion_flags::more) == 0)
            unlink(*c.op);
        add(*to, *c.op, c.result, c.flags);
    }
    return true;
}

void read_side::deliver(bool lend) {
    std::size_t kept = 0;
    for (const std::size_t index : touched_) {
        batch& b = batches_[index];
        worker& w = *b.home;
        const std::size_t events = b.completions.size();
        try {
            w.deliver(b.completions.data(), events);
        } catch (const std::bad_alloc&) {
            is_short_ = true;
            touched_[kept++] = index;
            continue;
        }
        b.completions.clear();
        if (lend)
            lend_or_wake(w, events);
    }
    touched_.resize(kept);
    if (!lend)
        return;
    for (worker* w : posted_)
        lend_or_wake(*w, std::max<std::size_t>(1, w->load().runnable));
    posted_.clear();
}

void read_side::run_lent() {
    ROTA_CHECK(inline_budget_.has_value(), "no work of workers runs here without a budget");
    const read_backend* const mine = backend_.get();
    next_lent_ = 0;
    while (next_lent_ < lent_.size()) {
        if (run_lent_one(*lent_[next_lent_++]))
            continue;
        // Another thread is the driver now. What this one has asked for without waking it, it sees.
        driven_here = nullptr;
        leave(mine);
        wake();
        return;
    }
    lent_.clear();
}

void read_side::lend_or_wake(worker& w, std::size_t events) {
    const auto predicted = w.cost_per_event() * static_cast<std::int64_t>(events);
    if (!is_short_ && inline_budget_ && predicted <= *inline_budget_ && try_lend(w)) {
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
    if (is_kept_off(w))
        return false;
    if (std::ranges::find(watched_, &w) == watched_.end()) {
        try {
            lent_.reserve(watched_.size() + 1);
            kept_off_.reserve(watched_.size() + 1);
            watched_.push_back(&w);
        } catch (const std::bad_alloc&) {
            return false;
        }
    }
    return w.try_lend();
}

void read_side::lend_for_timers() {
    const time_point earliest = earliest_lent_deadline();
    if (earliest == time_point::max() || earliest > std::chrono::steady_clock::now())
        return;
    for (worker* w : watched_) {
        if (w->lent_deadline() > std::chrono::steady_clock::now())
            continue;
        if (is_short_ || is_kept_off(*w)) {
            w->notify();
        } else if (w->try_lend()) {
            lent_.push_back(w);
        }
    }
}

} // namespace rota::io
