#include "service.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <optional>

#include <rota/errors.hpp>
#include <rota/linked_stop.hpp>
#include <rota/routine.hpp>
#include <rota/sleep_awaiter.hpp>
#include <rota/task_group.hpp>
#include <rota/when_all.hpp>
#include <rota/with_timeout.hpp>
#include <rota/worker.hpp>
#include <rota/yield.hpp>

namespace jobs {
namespace {

using std::chrono::milliseconds;

/// How many consumers one step of the store serves.
constexpr std::size_t served_at_once = 256;
/// After a store could not be used.
constexpr time_ms until_tried_again_ms = 1'000;
/// For what is due at a time of day.
constexpr milliseconds waits_at_once{1'000};

rota::task<void> note_end(rota::task<void> of, bool* ended, rota::linked_stop<2>* then) {
    co_await std::move(of);
    *ended = true;
    then->request_stop();
}

rota::task<void> wait_for_change(rota::auto_event* change) { co_await change->wait(); }

rota::task<void> wait_until_later(event_log* log, std::uint64_t number) {
    co_await log->later(number);
}

/// Whether there may be jobs to be taken because of it.
bool frees(const change& what) noexcept {
    switch (what.kind) {
    case change_kind::added:
    case change_kind::retried:
    case change_kind::expired:
    case change_kind::abandoned:
        return what.due == 0;
    case change_kind::due:
    case change_kind::revived:
    case change_kind::resumed:
    case change_kind::configured:
        return true;
    default:
        return false;
    }
}

std::vector<std::string> leases_of(const std::vector<taken_job>& jobs) {
    std::vector<std::string> ids;
    ids.reserve(jobs.size());
    for (const taken_job& job : jobs)
        ids.push_back(job.lease_id);
    return ids;
}

/// A consumer's place in a line, for as long as it waits. What comes for it and is not fetched goes
/// back.
class standing {
public:
    standing(service& by, watched_queue& queue, take_request wanted, bool waits)
        : by_(by), queue_(queue), place_(queue.line.join(wanted, waits)) {}
    standing(const standing&) = delete;
    standing& operator=(const standing&) = delete;
    ~standing() {
        const std::vector<taken_job> left = queue_.line.leave(*place_);
        if (!left.empty())
            by_.backing().put_back(queue_.name, leases_of(left), false, by_.now());
    }
    [[nodiscard]] taker_line::place& place() const noexcept { return *place_; }

private:
    service& by_;
    watched_queue& queue_;
    taker_line::place_ptr place_;
};

} // namespace

delivery::~delivery() {
    if (!leases_.empty())
        service_->backing().put_back(queue_->name, std::move(leases_), true, service_->now());
}

service::service(jobs::store& jobs, service_options options)
    : store_(jobs), options_(std::move(options)), clock_(options_.wall_offset), epoch_(now()),
      watch_(jobs, clock_) {
    store_.listen(this);
}

service::~service() {
    store_.listen(nullptr);
    store_.put_back_rest(now());
}

// --- Time ---

time_ms service::now() const noexcept {
    const rota::worker* const here = rota::worker::current();
    return clock_.at(here != nullptr ? here->now() : std::chrono::steady_clock::now());
}

std::chrono::steady_clock::time_point service::steady(time_ms when) const noexcept {
    return clock_.steady(when);
}

void service::plan(time_ms due) noexcept {
    const std::lock_guard guard(plan_lock_);
    if (due < planned_) {
        planned_ = due;
        earlier_.notify();
    }
}

/// Or until something is due earlier. In pieces: the time of day may be set meanwhile, or go on
/// while the steady clock does not.
rota::task<void> service::wait_until(time_ms due) {
    const rota::routine& self = co_await rota::current_routine;
    for (;;) {
        try {
            rota::task<void> change = wait_for_change(&earlier_);
            if (due == never) {
                co_await std::move(change);
            } else {
                auto until = self.home().now() + waits_at_once;
                if (due - now() < waits_at_once.count())
                    until = steady(due);
                co_await rota::with_deadline(until, std::move(change));
            }
            co_return;
        } catch (const rota::timed_out&) { // something has ended, or a piece
        }
        if (now() >= due)
            co_return;
    }
}

rota::task<void> service::end_leases() {
    for (;;) {
        try {
            (void)co_await rota::when_all(end_due(), return_jobs());
        } catch (const std::bad_alloc&) { // to begin with: others may come to give something back
        }
        co_await rota::yield();
    }
}

rota::task<void> service::end_due() {
    for (;;) {
        {
            const std::lock_guard guard(plan_lock_);
            planned_ = never; // what becomes due from here on is planned for
        }
        std::optional<time_ms> due;
        try {
            due = co_await store_.pass_time(now());
        } catch (const store_error&) {    // is tried again
        } catch (const std::bad_alloc&) { // the same
        }
        time_ms next = due ? *due : now() + until_tried_again_ms;
        {
            const std::lock_guard guard(plan_lock_);
            next = planned_ = std::min(planned_, next);
        }
        bool waited = true;
        try {
            co_await wait_until(next);
        } catch (const std::bad_alloc&) {
            waited = false;
        }
        if (!waited)
            co_await rota::yield(); // others may come to give something back
    }
}

/// Apart from what ends: it may have to wait for others within the store.
rota::task<void> service::return_jobs() {
    const rota::routine& self = co_await rota::current_routine;
    for (;;) {
        bool failed = false;
        bool some = false;
        try {
            some = co_await store_.put_back_again(now());
        } catch (const store_error&) { // it is kept
            failed = true;
        } catch (const std::bad_alloc&) { // the same
            failed = true;
        }
        if (failed) {
            rota::sleep_awaiter pause(self.home().now() + milliseconds(until_tried_again_ms));
            co_await pause;
        } else if (some) {
            co_await rota::yield(); // a store in memory waits for nothing
        } else {
            co_await store_.unreturned_more().wait();
        }
    }
}

// --- Queues ---

watched_ptr service::open(std::string_view name) {
    {
        const std::shared_lock guard(lock_);
        if (const auto found = queues_.find(name); found != queues_.end())
            return found->second;
    }
    const std::unique_lock guard(lock_);
    if (const auto found = queues_.find(name); found != queues_.end())
        return found->second;
    if (queues_.size() >= options_.watched_max) {
        // Its users have a reference each, which they get under the lock.
        std::erase_if(queues_, [this](const auto& named) {
            const bool unused = named.second.use_count() == 1;
            if (unused)
                last_forgotten_ = std::max(last_forgotten_, named.second->log.last() + 1);
            return unused;
        });
    }
    if (queues_.size() >= options_.watched_max)
        return nullptr;
    auto made =
        std::make_shared<watched_queue>(std::string(name), options_.events_kept, last_forgotten_);
    return queues_.emplace(std::string(name), std::move(made)).first->second;
}

void service::changed(std::span<const change> what) noexcept {
    while (!what.empty()) {
        const std::string& name = *what.front().queue;
        const auto end =
            std::ranges::find_if(what, [&](const change& c) { return *c.queue != name; });
        const auto count = static_cast<std::size_t>(end - what.begin());
        watched_ptr queue;
        try {
            queue = open(name);
        } catch (const std::bad_alloc&) { // a new one: nobody waits there, or watches
        }
        bool freed = false;
        bool removed = false;
        for (const change& each : what.first(count)) {
            if (queue) {
                queue->log.add(each);
                queue->times.add(each);
            }
            if (each.due != 0)
                plan(each.due + 1);
            freed |= frees(each);
            removed |= each.kind == change_kind::removed;
        }
        if (queue && removed)
            queue->line.dismiss();
        if (queue && freed)
            queue->line.changed();
        what = what.subspan(count);
    }
}

void service::look_again(const std::string& queue, time_ms due) noexcept {
    if (due != 0) {
        plan(due + 1);
        return;
    }
    watched_ptr known;
    {
        const std::shared_lock guard(lock_);
        if (const auto found = queues_.find(queue); found != queues_.end())
            known = found->second;
    }
    if (known) // else nobody waits
        known->line.changed();
}

std::vector<job_times::seen> service::times(std::size_t limit) const {
    std::vector<job_times::seen> all;
    const std::shared_lock guard(lock_);
    for (const auto& [name, queue] : queues_) {
        job_times::seen each = queue->times.read(name);
        const auto any = [](const time_counts& of) {
            return std::ranges::any_of(of.counts, [](std::uint64_t count) { return count != 0; });
        };
        if (any(each.queued) || any(each.in_progress))
            all.push_back(std::move(each));
        if (all.size() == limit)
            break;
    }
    return all;
}

// --- Taking ---

rota::task<std::vector<taken_job>> service::take_now(watched_ptr queue, take_request wanted) {
    if (!queue->line.empty()) {
        co_return co_await stand_in_line(queue, wanted, false);
    }
    std::vector<take_request> all(1, wanted);
    std::vector<std::vector<taken_job>> got =
        co_await store_.take(queue->name, std::move(all), now());
    co_return std::move(got.front());
}

rota::task<std::vector<taken_job>> service::stand_in_line(watched_ptr queue, take_request wanted,
                                                          bool waits) {
    taker_line& line = queue->line;
    const standing here(*this, *queue, wanted, waits);
    std::vector<taken_job> jobs;
    while (jobs.empty()) {
        co_await line.turn(here.place());
        jobs = line.jobs(here.place());
        if (!jobs.empty() || line.refused(here.place()))
            break;
        // It leads.
        const std::vector<taker_line::place_ptr> asked = line.ask(served_at_once);
        std::vector<take_request> all;
        all.reserve(asked.size());
        for (const taker_line::place_ptr& each : asked)
            all.push_back(taker_line::wanted(*each));
        std::vector<std::vector<taken_job>> got =
            co_await store_.take(queue->name, std::move(all), now());
        std::vector<std::string> unwanted = line.answer(asked, std::move(got));
        if (!unwanted.empty())
            store_.put_back(queue->name, std::move(unwanted), false, now());
        jobs = line.jobs(here.place()); // before a stop request is looked at
    }
    co_return std::move(jobs);
}

rota::task<std::vector<taken_job>> service::wait_for_jobs(watched_ptr queue, take_request wanted,
                                                          milliseconds wait,
                                                          rota::task<void> client_gone) {
    const std::stop_token stopped = co_await rota::current_stop_token;
    rota::linked_stop enough(stopped, draining_.get_token());
    bool gone = false;
    rota::task_group beside(co_await rota::current_context);
    if (client_gone.valid())
        beside.spawn(note_end(std::move(client_gone), &gone, &enough), "take: is the client there");

    std::vector<taken_job> jobs;
    std::exception_ptr error;
    try {
        rota::task<std::vector<taken_job>> taking =
            rota::with_timeout(wait, stand_in_line(queue, wanted, true));
        jobs = co_await taking.under(enough.token());
    } catch (const rota::timed_out&) {           // there were none
    } catch (const rota::operation_cancelled&) { // nobody wants them any more
    } catch (...) {
        error = std::current_exception();
    }
    beside.request_stop();
    co_await beside.ended();
    if (error)
        std::rethrow_exception(error);
    const bool cancelled = stopped.stop_requested();
    if ((gone || cancelled) && !jobs.empty()) {
        store_.put_back(queue->name, leases_of(jobs), false, now());
        jobs.clear();
    }
    if (cancelled)
        throw rota::operation_cancelled();
    co_return std::move(jobs);
}

rota::task<bool> service::wait_for_event(watched_ptr queue, std::uint64_t after,
                                         milliseconds wait) {
    const std::stop_token stopped = co_await rota::current_stop_token;
    const rota::linked_stop enough(stopped, draining_.get_token());
    bool there = false;
    try {
        rota::task<void> waiting = rota::with_timeout(wait, wait_until_later(&queue->log, after));
        co_await waiting.under(enough.token());
        there = true;
    } catch (const rota::timed_out&) {
    } catch (const rota::operation_cancelled&) {
    }
    if (stopped.stop_requested())
        throw rota::operation_cancelled();
    co_return there;
}

} // namespace jobs
