#include "read_side.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <spdlog/spdlog.h>

namespace rota::io {
namespace {

thread_local const read_side* driven_here = nullptr;

/// How long the work of one worker may keep the receiving thread from its ring before the rest goes
/// to the worker.
constexpr auto lent_run_limit = std::chrono::microseconds(200);

/// More workers than this that are posted to between two turns are woken at once.
constexpr std::size_t posted_max = 64;

} // namespace

read_side::read_side(backend_factory make_backend, std::chrono::nanoseconds inline_budget)
    : make_backend_(std::move(make_backend)), backend_(make_backend_()),
      inline_budget_(inline_budget) {
    posted_.reserve(posted_max);
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
        backend_->wake();
    }
}

void read_side::enter_thread() {
    // A ring has one issuer for ever. A worker that ended and was started again has a new thread,
    // so it gets a new ring; nothing is in flight in the old one.
    if (driver_ != std::thread::id{})
        backend_ = make_backend_();
    driver_ = std::this_thread::get_id();
    driven_here = this;
    backend_->enter_thread();
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
            if (op.group->attached_to != nullptr)
                op.group->reset();
            backend_->attach(*op.group);
            op.group->attached_to = backend_.get();
        }
        op.armed = true;
        backend_->arm(op);
    } catch (const std::system_error& e) {
        op.armed = false;
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
                c.op->armed = false;
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
    for (worker* w : lent_)
        w->run_lent(lent_run_limit);
    lent_.clear();
}

void read_side::lend_or_wake(worker& w, std::size_t events) {
    const auto predicted = w.cost_per_event() * static_cast<std::int64_t>(events);
    if (predicted <= inline_budget_ && try_lend(w)) {
        lent_.push_back(&w);
    } else {
        w.notify();
    }
}

bool read_side::try_lend(worker& w) {
    if (!w.try_lend())
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
        if (w->lent_deadline() <= std::chrono::steady_clock::now() && w->try_lend()) {
            lent_.push_back(w);
        }
    }
}

} // namespace rota::io
