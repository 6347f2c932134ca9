// The cases of rota-micro with Asio's coroutines: awaitable, co_spawn, channels, strands, timers.
//
// A worker is an io_context that one thread runs, made with the hint for one thread. What two
// workers share is what Asio has for that: a concurrent_channel, a strand.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <variant>
#include <vector>

#include <asio.hpp>
#include <asio/experimental/awaitable_operators.hpp>
#include <asio/experimental/channel.hpp>
#include <asio/experimental/concurrent_channel.hpp>

#include "process.hpp"
#include "program.hpp"
#include "wake.hpp"

namespace rota::bench {
namespace {

using asio::experimental::channel;
using asio::experimental::concurrent_channel;
using std::chrono::nanoseconds;
using executor = asio::io_context::executor_type;
// With the executor's own type nothing is erased, and so nothing is looked up at run time.
template <class T>
using coroutine = asio::awaitable<T, executor>;
constexpr asio::use_awaitable_t<executor> use_coroutine{};
using timer = asio::steady_timer::rebind_executor<executor>::other;

/// Runs one coroutine to its end on a context of its own, on the calling thread.
nanoseconds run(const std::function<coroutine<nanoseconds>()>& body) {
    asio::io_context context(1);
    std::future<nanoseconds> result =
        asio::co_spawn(context.get_executor(), body(), asio::use_future);
    context.run();
    return result.get();
}

coroutine<std::uint64_t> successor(std::uint64_t value) { co_return value + 1; }
coroutine<void> nothing() { co_return; }

coroutine<nanoseconds> await_children(std::uint64_t count) {
    std::uint64_t value = 0;
    const auto begin = clock::now();
    for (std::uint64_t i = 0; i < count; ++i) {
        value = co_await successor(value);
    }
    keep(value);
    co_return clock::now() - begin;
}

coroutine<nanoseconds> spawn_and_join(std::uint64_t count) {
    const executor here = co_await asio::this_coro::executor;
    const auto begin = clock::now();
    for (std::uint64_t i = 0; i < count; ++i) {
        co_await asio::co_spawn(here, nothing(), use_coroutine);
    }
    co_return clock::now() - begin;
}

/// Asio counts no children: the last one's completion handler ends the timer that is waited for.
coroutine<nanoseconds> run_groups(std::uint64_t count) {
    constexpr std::uint64_t group_size = 1000;
    const executor here = co_await asio::this_coro::executor;
    timer all_ended(here);
    const auto begin = clock::now();
    while (count != 0) {
        const std::uint64_t children = std::min(count, group_size);
        std::uint64_t left = children;
        all_ended.expires_at(timer::time_point::max());
        for (std::uint64_t i = 0; i < children; ++i) {
            asio::co_spawn(here, nothing(), [&](std::exception_ptr) {
                if (--left == 0) {
                    all_ended.cancel();
                }
            });
        }
        asio::error_code ended;
        co_await all_ended.async_wait(asio::redirect_error(use_coroutine, ended));
        count -= children;
    }
    co_return clock::now() - begin;
}

coroutine<void> yield_often(std::uint64_t count) {
    const executor here = co_await asio::this_coro::executor;
    for (std::uint64_t i = 0; i < count; ++i) {
        co_await asio::post(here, use_coroutine);
    }
}

/// Runs both to their ends on one context.
nanoseconds run_both(const std::function<coroutine<void>()>& one,
                     const std::function<coroutine<void>()>& other) {
    asio::io_context context(1);
    const auto begin = clock::now();
    asio::co_spawn(context.get_executor(), one(), asio::detached);
    asio::co_spawn(context.get_executor(), other(), asio::detached);
    context.run();
    return clock::now() - begin;
}

nanoseconds yield_in_turn(std::uint64_t count) {
    return run_both([&] { return yield_often(count - count / 2); },
                    [&] { return yield_often(count / 2); });
}

/// `count` contexts, each run by a thread of its own on the core that is given.
class workers {
public:
    explicit workers(const std::vector<unsigned>& cores) {
        for (const unsigned core : cores) {
            contexts_.emplace_back(1);
            asio::io_context& context = contexts_.back();
            busy_.push_back(asio::make_work_guard(context));
            threads_.emplace_back([core, &context] {
                keep_on(core);
                context.run();
            });
        }
    }
    workers(const workers&) = delete;
    workers& operator=(const workers&) = delete;
    ~workers() {
        busy_.clear();
        for (std::thread& thread : threads_) {
            thread.join();
        }
    }
    asio::io_context& first() { return contexts_.front(); }
    asio::io_context& last() { return contexts_.back(); }

private:
    std::deque<asio::io_context> contexts_;
    std::vector<asio::executor_work_guard<executor>> busy_;
    std::vector<std::thread> threads_;
};

/// A pair of channels of one place, of the kind for one thread or of the one for several.
template <template <class, class...> class Channel>
struct table {
    using signature = void(asio::error_code, std::uint64_t);
    explicit table(executor e) : there(e, 1), back(e, 1) {}
    Channel<executor, signature> there;
    Channel<executor, signature> back;
};

template <class Table>
coroutine<void> return_all(Table* t, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t ball = co_await t->there.async_receive(use_coroutine);
        co_await t->back.async_send(asio::error_code(), ball, use_coroutine);
    }
}

template <class Table>
coroutine<void> serve(Table* t, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
        co_await t->there.async_send(asio::error_code(), i, use_coroutine);
        const std::uint64_t ball = co_await t->back.async_receive(use_coroutine);
        keep(ball);
    }
}

nanoseconds play_alone(std::uint64_t count) {
    asio::io_context context(1);
    table<channel> t(context.get_executor());
    const auto begin = clock::now();
    asio::co_spawn(context.get_executor(), return_all(&t, count), asio::detached);
    asio::co_spawn(context.get_executor(), serve(&t, count), asio::detached);
    context.run();
    return clock::now() - begin;
}

nanoseconds play(workers& w, std::size_t games, std::uint64_t count) {
    using table_of_two = table<concurrent_channel>;
    std::vector<std::unique_ptr<table_of_two>> tables;
    std::vector<std::future<void>> players;
    const auto begin = clock::now();
    for (std::size_t i = 0; i < games; ++i) {
        table_of_two* const t =
            tables.emplace_back(std::make_unique<table_of_two>(w.first().get_executor())).get();
        const std::uint64_t share = count / games + (i < count % games ? 1 : 0);
        players.push_back(
            asio::co_spawn(w.last().get_executor(), return_all(t, share), asio::use_future));
        players.push_back(
            asio::co_spawn(w.first().get_executor(), serve(t, share), asio::use_future));
    }
    for (std::future<void>& player : players) {
        player.get();
    }
    return clock::now() - begin;
}

/// What a mutex is for, as Asio does it: whoever is on the strand is there alone.
using strand = asio::strand<executor>;

coroutine<void> enter_often(strand* s, std::uint64_t* value, std::uint64_t count) {
    const executor here = co_await asio::this_coro::executor;
    for (std::uint64_t i = 0; i < count; ++i) {
        co_await asio::dispatch(asio::bind_executor(*s, use_coroutine));
        ++*value;
        co_await asio::post(asio::bind_executor(here, use_coroutine)); // dispatch would not leave
    }
}

nanoseconds enter_alone(std::uint64_t count) {
    asio::io_context context(1);
    strand s(context.get_executor());
    std::uint64_t value = 0;
    const auto begin = clock::now();
    asio::co_spawn(context.get_executor(), enter_often(&s, &value, count), asio::detached);
    context.run();
    keep(value);
    return clock::now() - begin;
}

nanoseconds contend(workers& w, std::uint64_t count) {
    strand s(w.first().get_executor());
    std::uint64_t value = 0;
    const auto begin = clock::now();
    auto one = asio::co_spawn(w.first().get_executor(), enter_often(&s, &value, count - count / 2),
                              asio::use_future);
    auto other = asio::co_spawn(w.last().get_executor(), enter_often(&s, &value, count / 2),
                                asio::use_future);
    one.get();
    other.get();
    keep(value);
    return clock::now() - begin;
}

/// The handlers of cancelled waits are run from time to time, as the context would.
nanoseconds arm_and_disarm(std::uint64_t count) {
    using std::chrono::milliseconds;
    asio::io_context context(1);
    std::deque<timer> others;
    for (int i = 0; i < 10'000; ++i) {
        others.emplace_back(context.get_executor(), milliseconds(100'000 + i * 7))
            .async_wait([](asio::error_code) {});
    }
    timer mine(context.get_executor());
    const auto begin = clock::now();
    for (std::uint64_t i = 0; i < count; ++i) {
        mine.expires_after(milliseconds(1'000 + i % 60'000));
        mine.async_wait([](asio::error_code) {});
        mine.cancel();
        if (i % 64 == 63) {
            context.poll();
        }
    }
    return clock::now() - begin;
}

coroutine<nanoseconds> limit_often(std::uint64_t count) {
    using namespace asio::experimental::awaitable_operators;
    timer limit(co_await asio::this_coro::executor);
    std::uint64_t value = 0;
    const auto begin = clock::now();
    for (std::uint64_t i = 0; i < count; ++i) {
        limit.expires_after(std::chrono::seconds(30));
        const auto first = co_await (successor(value) || limit.async_wait(use_coroutine));
        value = std::get<0>(first);
    }
    keep(value);
    co_return clock::now() - begin;
}

coroutine<void> nap() {
    timer t(co_await asio::this_coro::executor, std::chrono::hours(1));
    co_await t.async_wait(use_coroutine);
}

void measure_memory(harness& h) {
    const char* const memory = "memory of a sleeping routine";
    const char* const start = "start a routine that sleeps beside all the others";
    if (!h.wanted(memory) && !h.wanted(start)) {
        return;
    }
    const std::size_t count = h.quick() ? 20'000 : 100'000;
    asio::io_context context(1);
    asio::post(context, [] {});
    context.run();
    context.restart();
    const double before = resident_bytes();
    const auto begin = clock::now();
    for (std::size_t i = 0; i < count; ++i) {
        asio::co_spawn(context.get_executor(), nap(), asio::detached);
    }
    context.poll();
    const std::chrono::duration<double, std::nano> spent = clock::now() - begin;
    const double grown = resident_bytes() - before;
    h.record(memory, "bytes", grown / static_cast<double>(count), count);
    h.record(start, "ns", spent.count() / static_cast<double>(count), count);
}

void measure_one_worker(harness& h) {
    h.time("await a nested task",
           [](std::uint64_t n) { return run([n] { return await_children(n); }); });
    h.time("spawn and join a routine",
           [](std::uint64_t n) { return run([n] { return spawn_and_join(n); }); });
    h.time("spawn and join a child, 1000 in a task_group",
           [](std::uint64_t n) { return run([n] { return run_groups(n); }); });
    h.time("yield to another routine", yield_in_turn);
    h.time("channel round trip within a worker", play_alone);
    h.time("lock and unlock an uncontended mutex", enter_alone);
    h.time("arm and disarm a timer beside 10,000 others", arm_and_disarm);
    h.time("await a nested task within with_timeout",
           [](std::uint64_t n) { return run([n] { return limit_often(n); }); });
}

void measure_two_workers(harness& h) {
    const std::vector<unsigned> cores = usable_cores();
    {
        workers w({cores[0], cores[0]});
        h.time("channel round trip between two workers on one core",
               [&](std::uint64_t n) { return play(w, 1, n); });
    }
    if (cores.size() < 2) {
        return;
    }
    workers w({cores[0], cores[1]});
    h.time("channel round trip between two workers on two cores",
           [&](std::uint64_t n) { return play(w, 1, n); });
    h.time("channel round trip between two workers on two cores, 64 at once",
           [&](std::uint64_t n) { return play(w, 64, n); });
    h.time("lock and unlock a mutex, two workers contend",
           [&](std::uint64_t n) { return contend(w, n); });
    const pinned poster(cores[0]);
    measure_wakings(h, [&](auto f) { asio::post(w.last(), f); });
}

} // namespace
} // namespace rota::bench

int main(int argc, char** argv) {
    using namespace rota::bench;
    return run_program("asio", argc, argv,
                       {measure_memory, measure_one_worker, measure_two_workers});
}
