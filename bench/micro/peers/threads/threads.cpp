// The cases of rota-micro with a thread for each routine: std::thread, mutex, condition variable.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "process.hpp"
#include "program.hpp"
#include "wake.hpp"

namespace rota::bench {
namespace {

using std::chrono::nanoseconds;

/// A bounded queue with a place for one value.
class place {
public:
    void push(std::uint64_t value) {
        {
            std::unique_lock guard(lock_);
            emptied_.wait(guard, [this] { return !value_; });
            value_ = value;
        }
        filled_.notify_one();
    }
    std::uint64_t pop() {
        std::uint64_t value = 0;
        {
            std::unique_lock guard(lock_);
            filled_.wait(guard, [this] { return value_.has_value(); });
            value = *std::exchange(value_, std::nullopt);
        }
        emptied_.notify_one();
        return value;
    }

private:
    std::mutex lock_;
    std::condition_variable filled_;
    std::condition_variable emptied_;
    std::optional<std::uint64_t> value_;
};

struct table {
    place there;
    place back;
};

nanoseconds spawn_and_join(std::uint64_t count) {
    const auto begin = clock::now();
    for (std::uint64_t i = 0; i < count; ++i) {
        std::thread([] {}).join();
    }
    return clock::now() - begin;
}

nanoseconds run_groups(std::uint64_t count) {
    constexpr std::uint64_t group_size = 1000;
    std::vector<std::thread> group;
    const auto begin = clock::now();
    while (count != 0) {
        const std::uint64_t children = std::min(count, group_size);
        for (std::uint64_t i = 0; i < children; ++i) {
            group.emplace_back([] {});
        }
        for (std::thread& child : group) {
            child.join();
        }
        group.clear();
        count -= children;
    }
    return clock::now() - begin;
}

/// Two threads, each with a body on a core, from when both are there until both are through.
template <class One, class Other>
nanoseconds run_both(unsigned core_of_one, const One& one, unsigned core_of_other,
                     const Other& other) {
    std::atomic<int> there = 0;
    const auto await_all = [&] {
        there.fetch_add(1);
        while (there.load() != 3) {
            std::this_thread::yield();
        }
    };
    std::thread first([&] {
        keep_on(core_of_one);
        await_all();
        one();
    });
    std::thread second([&] {
        keep_on(core_of_other);
        await_all();
        other();
    });
    while (there.load() != 2) {
        std::this_thread::yield();
    }
    const auto begin = clock::now();
    there.fetch_add(1);
    first.join();
    second.join();
    return clock::now() - begin;
}

nanoseconds yield_in_turn(unsigned core, std::uint64_t count) {
    const auto yield_often = [](std::uint64_t n) {
        for (std::uint64_t i = 0; i < n; ++i) {
            std::this_thread::yield();
        }
    };
    return run_both(
        core, [&] { yield_often(count - count / 2); }, core, [&] { yield_often(count / 2); });
}

nanoseconds play(unsigned near, unsigned far, std::size_t games, std::uint64_t count) {
    std::vector<std::unique_ptr<table>> tables;
    std::vector<std::thread> players;
    std::latch start(1); // making threads takes longer than what is measured
    for (std::size_t i = 0; i < games; ++i) {
        table* const t = tables.emplace_back(std::make_unique<table>()).get();
        const std::uint64_t share = count / games + (i < count % games ? 1 : 0);
        players.emplace_back([=, &start] {
            keep_on(far);
            start.wait();
            for (std::uint64_t k = 0; k < share; ++k) {
                t->back.push(t->there.pop());
            }
        });
        players.emplace_back([=, &start] {
            keep_on(near);
            start.wait();
            for (std::uint64_t k = 0; k < share; ++k) {
                t->there.push(k);
                keep(t->back.pop());
            }
        });
    }
    const auto begin = clock::now();
    start.count_down();
    for (std::thread& player : players) {
        player.join();
    }
    return clock::now() - begin;
}

struct guarded {
    std::mutex lock;
    std::uint64_t value = 0;

    void add_often(std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::lock_guard held(lock);
            ++value;
        }
    }
};

nanoseconds lock_alone(std::uint64_t count) {
    guarded g;
    // A mutex is cheaper in a process that has never had a second thread.
    std::thread([] {}).join();
    const auto begin = clock::now();
    g.add_often(count);
    return clock::now() - begin;
}

nanoseconds hold_and_yield(unsigned core, std::uint64_t count) {
    guarded g;
    const auto body = [&](std::uint64_t n) {
        for (std::uint64_t i = 0; i < n; ++i) {
            const std::lock_guard held(g.lock);
            ++g.value;
            std::this_thread::yield();
        }
    };
    return run_both(
        core, [&] { body(count - count / 2); }, core, [&] { body(count / 2); });
}

nanoseconds contend(unsigned near, unsigned far, std::uint64_t count) {
    guarded g;
    return run_both(
        near, [&] { g.add_often(count - count / 2); }, far, [&] { g.add_often(count / 2); });
}

/// With as many as a system lets a process have anyway.
void measure_memory(harness& h) {
    const char* const memory = "memory of a sleeping routine";
    const char* const start = "start a routine that sleeps beside all the others";
    if (!h.wanted(memory) && !h.wanted(start)) {
        return;
    }
    const std::size_t count = 1000;
    std::mutex lock;
    std::condition_variable changed;
    bool over = false;
    std::size_t asleep = 0;
    std::thread([] {}).join();
    std::vector<std::thread> threads;
    threads.reserve(count);
    const double before = resident_bytes();
    const auto begin = clock::now();
    for (std::size_t i = 0; i < count; ++i) {
        threads.emplace_back([&] {
            std::unique_lock guard(lock);
            if (++asleep == count) {
                changed.notify_all();
            }
            changed.wait_for(guard, std::chrono::hours(1), [&] { return over; });
        });
    }
    {
        std::unique_lock guard(lock);
        changed.wait(guard, [&] { return asleep == count; });
    }
    const std::chrono::duration<double, std::nano> spent = clock::now() - begin;
    const double grown = resident_bytes() - before;
    {
        const std::lock_guard guard(lock);
        over = true;
    }
    changed.notify_all();
    for (std::thread& thread : threads) {
        thread.join();
    }
    h.record(memory, "bytes", grown / static_cast<double>(count), count);
    h.record(start, "ns", spent.count() / static_cast<double>(count), count);
}

/// A thread on a core that runs what it is given.
class runner {
public:
    explicit runner(unsigned core)
        : thread_([this, core] {
              keep_on(core);
              run();
          }) {}
    runner(const runner&) = delete;
    runner& operator=(const runner&) = delete;
    ~runner() {
        post({});
        thread_.join();
    }
    /// One at a time. Nothing: that was all.
    void post(std::function<void()> job) {
        {
            const std::lock_guard guard(lock_);
            job_ = std::move(job);
        }
        posted_.notify_one();
    }

private:
    void run() {
        for (;;) {
            std::unique_lock guard(lock_);
            posted_.wait(guard, [this] { return job_.has_value(); });
            const std::function<void()> job = *std::exchange(job_, std::nullopt);
            guard.unlock();
            if (!job) {
                return;
            }
            job();
        }
    }

    std::mutex lock_;
    std::condition_variable posted_;
    std::optional<std::function<void()>> job_;
    std::thread thread_;
};

void measure(harness& h) {
    const std::vector<unsigned> cores = usable_cores();
    const unsigned near = cores[0];
    {
        const pinned here(near);
        h.time("spawn and join a routine", spawn_and_join);
        h.time("spawn and join a child, 1000 in a task_group", run_groups);
        h.time("lock and unlock an uncontended mutex", lock_alone);
    }
    h.time("yield to another routine", [=](std::uint64_t n) { return yield_in_turn(near, n); });
    h.time("lock a mutex, yield and unlock it, two routines on a worker",
           [=](std::uint64_t n) { return hold_and_yield(near, n); });
    h.time("channel round trip between two workers on one core",
           [=](std::uint64_t n) { return play(near, near, 1, n); });
    if (cores.size() < 2) {
        return;
    }
    const unsigned far = cores[1];
    h.time("channel round trip between two workers on two cores",
           [=](std::uint64_t n) { return play(near, far, 1, n); });
    h.time("channel round trip between two workers on two cores, 64 at once",
           [=](std::uint64_t n) { return play(near, far, 64, n); });
    h.time("lock and unlock a mutex, two workers contend",
           [=](std::uint64_t n) { return contend(near, far, n); });
    const pinned poster(near);
    runner other(far);
    measure_wakings(h, [&](auto f) { other.post(f); });
}

} // namespace
} // namespace rota::bench

int main(int argc, char** argv) {
    using namespace rota::bench;
    return run_program("threads", argc, argv, {measure_memory, measure});
}
