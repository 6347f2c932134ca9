#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <rota/event.hpp>
#include <rota/inline_scheduler.hpp>

#include "jobs/queue.hpp"

namespace queue_tests {

using namespace jobs;
using namespace std::chrono_literals;
using rota::task;
using taken = std::vector<taken_job>;
using keys = std::vector<std::string>;

inline keys keys_of(const taken& jobs) {
    keys result;
    for (const taken_job& job : jobs)
        result.push_back(job.key);
    return result;
}

/// A service over a store, in virtual time. The store may have a thread of its own, so what it does
/// is waited for, while the time stands still.
struct queue_bench {
    explicit queue_bench(store& on) : rows(on) { (void)spawn(served.end_leases()); }
    queue_bench(const queue_bench&) = delete;
    queue_bench& operator=(const queue_bench&) = delete;
    ~queue_bench() {
        for (const rota::routine_ptr& r : routines) {
            r->request_stop();
            end(r);
        }
    }
    rota::routine_ptr spawn(task<void> body) {
        return routines.emplace_back(scheduler.spawn(std::move(body), {.report_errors = false}));
    }
    /// As the service has it in its routines.
    [[nodiscard]] time_ms now() const {
        return std::chrono::duration_cast<std::chrono::milliseconds>(
                   scheduler.now().time_since_epoch())
            .count();
    }
    void until(const std::function<bool()>& reached) {
        const auto limit = std::chrono::steady_clock::now() + 60s;
        for (scheduler.run(); !reached(); scheduler.run()) {
            if (std::chrono::steady_clock::now() > limit)
                throw std::runtime_error("not within a minute");
            std::this_thread::sleep_for(100us);
        }
    }
    void end(const rota::routine_ptr& r) {
        until([&] { return r->state() == rota::routine_state::stopped; });
    }
    template <class T>
    T wait(task<T> call) {
        std::optional<T> result;
        const rota::routine_ptr r = spawn(keep_result(std::move(call), &result));
        end(r);
        if (r->error())
            std::rethrow_exception(r->error());
        return std::move(*result);
    }
    template <class T>
    static task<void> keep_result(task<T> call, std::optional<T>* into) {
        T result = co_await std::move(call);
        into->emplace(std::move(result));
    }
    void add(const std::string& key) {
        std::vector<new_job> one;
        one.push_back({key, '"' + key + '"'});
        (void)wait(rows.add("q", std::move(one), std::nullopt, now()));
    }
    keys in(job_state state) {
        keys result;
        for (const job_info& job : wait(rows.list("q", {.state = state}, now())).jobs)
            result.push_back(job.key);
        return result;
    }
    job_info find(const std::string& key) {
        for (const job_state state :
             {job_state::queued, job_state::delayed, job_state::in_progress, job_state::dead}) {
            for (job_info& job : wait(rows.list("q", {.state = state}, now())).jobs) {
                if (job.key == key)
                    return std::move(job);
            }
        }
        throw std::runtime_error("there is no job " + key);
    }
    queue_counts counts() { return wait(rows.describe("q", now()))->counts; }
    std::size_t events(change_kind kind) {
        const std::vector<event> all = served.open("q")->log.after(0, 1'000);
        return static_cast<std::size_t>(
            std::ranges::count_if(all, [&](const event& e) { return e.kind == kind; }));
    }
    /// Leases have been extended so often, and who did it knows: an event is told before the answer
    /// is, and the answer to what is asked after that comes later.
    void until_extended(std::size_t times) {
        until([&] { return events(change_kind::extended) == times; });
        (void)counts();
    }
    /// Starts work that says which jobs it has and then waits for `go`.
    rota::routine_ptr start(std::size_t max, keys* got, rota::event* go,
                            std::optional<finished<std::monostate>>* result, taking how = {}) {
        return spawn(take_and_wait(&q, max, got, go, result, how));
    }
    static task<void> take_and_wait(queue* from, std::size_t max, keys* got, rota::event* go,
                                    std::optional<finished<std::monostate>>* result, taking how) {
        auto work = [got, go](const taken& jobs) -> task<void> {
            *got = keys_of(jobs);
            co_await go->wait();
        };
        auto working = from->with_taken(max, work, how);
        std::optional<finished<std::monostate>> done = co_await std::move(working);
        *result = std::move(done);
    }

    store& rows;
    rota::inline_scheduler scheduler;
    service served{rows, {.wall_offset = [] { return 0ns; }}};
    queue q{served, "q"};
    std::vector<rota::routine_ptr> routines;
};

} // namespace queue_tests
