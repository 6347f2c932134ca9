#include "scenario.hpp"

#include <algorithm>
#include <utility>

#include <rota/errors.hpp>

namespace sim {
namespace {

using rota::task;

/// Last bytes that take longer than this are cut off, in some runs.
constexpr auto short_linger = std::chrono::milliseconds(5);

/// Options small enough that every bound is met all the time.
rota::io::context_options draw_options(random& r) {
    using std::chrono::milliseconds;
    constexpr unsigned buffers[] = {1, 2, 4, 16};
    constexpr std::size_t buffer_bytes[] = {8, 100, 4096};
    constexpr std::size_t bytes[] = {1, 100, 5000, 262'144};
    constexpr nanoseconds budgets[] = {nanoseconds(0), nanoseconds(30'000),
                                       nanoseconds(1'000'000'000)};
    constexpr milliseconds lingers[] = {short_linger, std::chrono::hours(1)};
    rota::io::context_options o;
    o.workers = r.between(1, 3);
    o.batch_size = r.between(1, 3);
    o.blocking_threads = 1;
    o.stall_limit = std::chrono::milliseconds(0); // no step takes time that the watch could see
    o.reactor.topology = r.chance(300) ? rota::io::topology::per_worker : rota::io::topology::split;
    o.reactor.receive_buffers = r.one_of(buffers);
    o.reactor.receive_buffer_bytes = r.one_of(buffer_bytes);
    o.reactor.high_water_bytes = r.one_of(bytes);
    o.reactor.low_water_bytes = r.below(o.reactor.high_water_bytes + 1);
    o.reactor.max_unread_bytes = r.one_of(bytes);
    o.reactor.inline_budget = r.one_of(budgets);
    o.reactor.inline_send_bytes = r.one_of(bytes);
    o.reactor.linger = r.one_of(lingers);
    o.on_error = [](const rota::routine& which, std::exception_ptr error) {
        try {
            std::rethrow_exception(std::move(error));
        } catch (const std::exception& e) {
            here().fail(fmt::format("routine {} ended by: {}", which.name(), e.what()));
        }
    };
    return o;
}

task<void> run_to_end(const served* s, bool* ended) {
    co_await s->run();
    *ended = true;
}

} // namespace

scenario::scenario() : context_(draw_options(here().rng()), simulated_backends()) {}

bool scenario::may_cut() const noexcept {
    return ending_ || context_.options().linger == short_linger;
}

void scenario::client(std::function<void()> body) { bodies_.push_back(std::move(body)); }

void scenario::start(const served& s) {
    rota::runtime& workers = context_.workers();
    for (const auto& beside : s.beside)
        workers.spawn(beside(), {.name = "beside"});
    workers.spawn(run_to_end(&s, &ended_), {.name = "server"});
    here().wait("the server to listen", [] { return simulation::here().net.listens(port); });
    for (auto& body : bodies_) {
        ++clients_;
        here().start("client", [this, body = std::move(body)] {
            body();
            --clients_;
        });
    }
}

void scenario::serve(const served& s) {
    here().watch([this, &s] {
        here().require(s.connections() <= s.connections_max, "more connections than permits");
        // In the end those who wait are accepted, because the kernel would reset them.
        here().require(ending_ || simulation::here().net.accepted() <= s.connections_max,
                       "a client is accepted without a permit");
    });
    start(s);
    random& r = here().rng();
    const std::size_t way = r.below(10);
    if (way < 6) {
        here().wait("the clients to end and the network to be quiet",
                    [this] { return clients_ == 0 && simulation::here().net.quiet(); });
    } else {
        constexpr std::size_t times[] = {5'000'000, 60'000'000, 300'000'000};
        const time_point latest = here().now() + nanoseconds(r.below(r.one_of(times)));
        const bool at_an_accept = r.chance(500);
        here().wait(
            "the time to end",
            [at_an_accept] { return at_an_accept && simulation::here().net.has_backlog(); },
            latest);
    }
    ending_ = true;
    here().note("the end begins ({})", way);
    if (way < 8) {
        end_in_order(s);
    } else {
        end_at_once();
    }
    here().wait("the clients to end", [this] { return clients_ == 0; });
    here().unwatch();
    check_home();
    context_.stop();
}

void scenario::end_in_order(const served& s) {
    using std::chrono::seconds;
    s.drain();
    // With clients there it may take until the drain timeout; without any it has nothing to wait
    // for but those whose last bytes linger.
    const bool alone = clients_ == 0 && simulation::here().net.quiet();
    const time_point limit = here().now() + (alone ? seconds(5) : seconds(60));
    const bool in_time = here().wait(
        "the server to drain", [this] { return ended_; }, limit);
    here().require(in_time, "the drain does not end: a permit is missing, or a client is stuck");
    end_at_once();
}

/// As context::stop() begins, but without blocking the thread that plays all others.
void scenario::end_at_once() {
    rota::routine_registry& routines = context_.workers().registry();
    routines.request_stop_all();
    here().wait("the routines to end", [&routines] { return routines.size() == 0; });
}

/// After the routines have ended and the clients have gone, nothing may be left.
void scenario::check_home() {
    rota::runtime& workers = context_.workers();
    here().wait("the connections to be closed", [&workers] {
        for (std::size_t i = 0; i < workers.worker_count(); ++i) {
            if (workers.worker_at(i)->places() != 0)
                return false;
        }
        return true;
    });
    for (std::size_t i = 0; i < workers.worker_count(); ++i) {
        const rota::worker& w = *workers.worker_at(i);
        here().require(w.connections() == 0, "a worker counts connections that have gone");
        here().require(w.load().runnable == 0, "a worker has work that nobody does");
    }
    here().require(simulation::here().net.open_descriptors() == 0, "a descriptor is left open");
    for (rota::io::buffer_group* const group : simulation::here().groups) {
        std::vector<bool> seen(group->count(), false);
        std::size_t home = 0;
        for (auto b = group->take(); b != rota::io::buffer_group::none; b = group->take()) {
            here().require(!seen[b], "a receive buffer has been given back twice");
            seen[b] = true;
            ++home;
        }
        here().require(home == group->count(), "a receive buffer has not been given back");
        for (; home != 0; --home)
            group->untake();
    }
    simulation::here().groups.clear();
}

} // namespace sim
