#include "scenario.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include <rota/errors.hpp>

namespace sim {
namespace {

using rota::task;

/// Last bytes that take longer than this are cut off, in some runs.
constexpr auto short_linger = std::chrono::milliseconds(5);
constexpr std::size_t workers_max = 4;

/// Options small enough that every bound is met all the time.
rota::io::context_options draw_options(random& r, setting what) {
    using std::chrono::milliseconds;
    constexpr unsigned buffers[] = {1, 2, 4, 16};
    constexpr std::size_t buffer_bytes[] = {8, 100, 4096};
    constexpr std::size_t bytes[] = {1, 100, 5000, 262'144};
    constexpr std::size_t unread_bytes[] = {100, 1000, 5000,
                                            262'144}; // byte by byte takes too long
    constexpr nanoseconds budgets[] = {nanoseconds(0), nanoseconds(30'000),
                                       nanoseconds(1'000'000'000)};
    constexpr milliseconds lingers[] = {short_linger, std::chrono::hours(1)};
    rota::io::context_options o;
    o.workers = r.between(1, 3);
    o.batch_size = r.between(1, 3);
    o.blocking_threads = 1;
    o.stall_limit = std::chrono::milliseconds(0); // no step takes time that the watch could see
    using rota::io::topology;
    constexpr topology topologies[] = {topology::split, topology::split, topology::per_worker,
                                       topology::dedicated};
    o.reactor.topology = r.one_of(topologies);
    o.reactor.receive_buffers = r.one_of(buffers);
    o.reactor.receive_buffer_bytes = r.one_of(buffer_bytes);
    o.reactor.high_water_bytes = r.one_of(bytes);
    o.reactor.low_water_bytes = r.below(o.reactor.high_water_bytes + 1);
    o.reactor.max_unread_bytes = r.one_of(unread_bytes);
    o.reactor.inline_budget = r.one_of(budgets);
    o.reactor.inline_send_bytes = r.one_of(bytes);
    o.reactor.linger = r.one_of(lingers);
    if (what == setting::held_up) {
        o.workers = r.between(3, workers_max);
        o.reactor.topology = topology::split;
        o.reactor.inline_budget = std::chrono::seconds(1000);
    } else if (what == setting::together) {
        o.workers = 1;
        o.reactor.receive_buffers = 16;
        o.reactor.receive_buffer_bytes = 4096;
        o.reactor.max_unread_bytes = 262'144;
    }
    o.on_error = [](const rota::routine& which, std::exception_ptr error) {
        try {
            std::rethrow_exception(std::move(error));
        } catch (const std::exception& e) {
            const memory::ample now;
            here().require(which.name() != "beside", "what runs beside the server has ended");
            if (which.name() == "datagrams" && std::string_view(e.what()) == over_a_datagram)
                return; // it fails while the server drains: datagrams.cpp looks at the server's end
            scenario::note_error(fmt::format("routine {} ended by: {}", which.name(), e.what()));
        }
    };
    return o;
}

task<void> run_to_end(const served* s, bool* ended) {
    try {
        co_await s->run();
    } catch (const std::bad_alloc& e) { // everything has to be home all the same
        scenario::note_error(e.what());
    }
    *ended = true;
}

} // namespace

scenario::scenario(setting what) : scenario(what, draw_options(here().rng(), what)) {}

scenario::scenario(setting what, const rota::io::context_options& options)
    : setting_(what), context_(options, simulated_backends(options.reactor.topology)) {}

bool scenario::lingers_shortly() const noexcept {
    return context_.options().linger == short_linger;
}

bool scenario::may_cut() const noexcept {
    return ending_ || lingers_shortly() || memory::was_short();
}

void scenario::note_error(std::string_view what) {
    here().note("error: {}", what);
    here().require(memory::was_short() && what.find("bad_alloc") != std::string_view::npos, what);
}

void scenario::client(std::function<void()> body) { bodies_.push_back(std::move(body)); }

void scenario::start(const served& s) {
    rota::runtime& workers = context_.workers();
    for (const auto& beside : s.beside)
        workers.spawn(beside(), {.name = "beside"});
    workers.spawn(run_to_end(&s, &ended_), {.name = "server"});
    here().wait("the server to listen", [] { return simulation::here().net.listens(port); });
    memory::begin();
    const bool own_rings = context_.options().topology == rota::io::topology::per_worker;
    if (setting_ != setting::together && here().rng().chance(own_rings ? 700 : 300))
        client([this] { resize(); });
    for (auto& body : bodies_) {
        ++clients_;
        here().start("client", [this, body = std::move(body)] {
            body();
            --clients_;
        });
    }
}

/// Grows and shrinks while clients are served; a worker may end and be started again.
void scenario::resize() {
    random& r = here().rng();
    constexpr std::size_t pauses[] = {300'000, 2'000'000, 20'000'000, 20'000'000};
    const std::size_t pause = r.one_of(pauses);
    for (std::size_t times = r.between(1, 60); times != 0; --times) {
        here().sleep(nanoseconds(r.below(pause)));
        context_.workers().set_workers(r.between(1, workers_max));
    }
}

void scenario::serve(const served& s) {
    here().watch([this, &s] {
        here().require(s.connections() <= s.connections_max, "more connections than permits");
        // In the end those that wait are accepted, because the kernel would reset them.
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
    // A handler whose client was cut off for want of memory may still be at it.
    const bool alone = clients_ == 0 && simulation::here().net.quiet() && !memory::was_short();
    // But each shortage in the kernel may cost a pause, of bytes that come eight at a time.
    const bool short_of_memory = simulation::here().net.conditions().receive_failures != 0;
    const seconds patience = !alone ? seconds(60) : short_of_memory ? seconds(9) : seconds(5);
    const time_point limit = here().now() + patience;
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
        for (std::size_t i = 0; workers.worker_at(i) != nullptr; ++i) {
            if (workers.worker_at(i)->places() != 0)
                return false;
        }
        return true;
    });
    for (std::size_t i = 0; workers.worker_at(i) != nullptr; ++i) {
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
