#include <rota/detail/small_lock.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

TEST_CASE("a small lock lets one thread in at a time") {
    constexpr std::size_t threads = 4;
    constexpr std::size_t turns = 20'000;
    rota::small_lock lock;
    std::size_t count = 0; // two at once would lose some
    {
        std::vector<std::jthread> all;
        for (std::size_t i = 0; i < threads; ++i) {
            all.emplace_back([&] {
                for (std::size_t turn = 0; turn < turns; ++turn) {
                    const std::lock_guard guard(lock);
                    ++count;
                    if (turn % 64 == 0)
                        std::this_thread::yield(); // the others come to sleep
                }
            });
        }
    }
    CHECK(count == threads * turns);
}

TEST_CASE("each thread that sleeps at a small lock is woken in its turn") {
    constexpr int sleepers = 3;
    rota::small_lock lock;
    std::atomic<int> inside = 0;
    std::vector<std::jthread> all;
    lock.lock();
    for (int i = 0; i < sleepers; ++i) {
        all.emplace_back([&] {
            const std::lock_guard guard(lock);
            ++inside;
            inside.notify_all();
        });
    }
    CHECK(inside == 0);
    lock.unlock();
    for (int seen = 0; seen != sleepers; seen = inside)
        inside.wait(seen);
    CHECK(inside == sleepers);
}

TEST_CASE("a small lock may go as soon as the last that locked it has unlocked it") {
    for (int turn = 0; turn < 2'000; ++turn) {
        auto owned = std::make_unique<rota::small_lock>();
        rota::small_lock& lock = *owned;
        std::atomic<bool> there = false;
        lock.lock();
        const std::jthread last([&there, mine = std::move(owned)]() mutable {
            there = true;
            there.notify_one();
            mine->lock();
            mine->unlock();
            mine.reset();
        });
        there.wait(false);
        lock.unlock(); // may still be at it when the other has it and lets it go
    }
}
