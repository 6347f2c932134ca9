#include "file_cache.hpp"

#include <memory>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/inline_scheduler.hpp>
#include <rota/routine.hpp>
#include <rota/task.hpp>
#include <rota/worker_local.hpp>

namespace rota::http {
namespace {

using namespace std::chrono_literals;

constexpr file_cache::time_point start{1000s};

site_file_ptr some_file() { return std::make_shared<site_file>(); }

TEST_CASE("a file is found by its path until another takes its place") {
    file_cache cache(10);
    const site_file_ptr a = some_file();
    const site_file_ptr b = some_file();
    CHECK(cache.find("a", start) == nullptr);
    cache.put("a", a, start);
    CHECK(cache.find("a", start) == a);
    cache.put("a", b, start);
    CHECK(cache.find("a", start) == b);
    CHECK(cache.size() == 1);
    CHECK(a.use_count() == 1);
    cache.drop("a");
    cache.drop("a");
    CHECK(cache.find("a", start) == nullptr);
    CHECK(b.use_count() == 1);
}

TEST_CASE("there are never more than may be, and those in use stay") {
    for (const std::size_t most : {std::size_t{1}, std::size_t{8}, std::size_t{1600}}) {
        file_cache cache(most);
        for (std::size_t i = 0; i < 3 * most; ++i) {
            if (most > 1 && i > 0)
                CHECK(cache.find("used", start) != nullptr);
            else
                cache.put("used", some_file(), start);
            cache.put(std::to_string(i), some_file(), start);
            CHECK(cache.size() <= most);
        }
        cache.clear();
        CHECK(cache.size() == 0);
        cache.put("again", some_file(), start);
        CHECK(cache.find("again", start) != nullptr);
    }
}

TEST_CASE("what stands beside a file has descriptors, too") {
    const auto with_siblings = [](std::size_t count) {
        auto made = std::make_shared<site_file>();
        for (std::size_t i = 0; i < count; ++i)
            made->siblings[i].there = true;
        return made;
    };
    file_cache cache(8);
    for (int i = 0; i < 8; ++i)
        cache.put(std::to_string(i), some_file(), start);
    CHECK(cache.size() == 8);
    cache.put("three", with_siblings(2), start);
    CHECK(cache.size() == 6);
    cache.put("three", some_file(), start); // in its own place
    CHECK(cache.size() == 6);
    cache.put("a", some_file(), start);
    cache.put("b", some_file(), start);
    CHECK(cache.size() == 8);
    file_cache small(2);
    small.put("four", with_siblings(3), start); // one is kept in any case
    CHECK(small.find("four", start) != nullptr);
    small.put("one", some_file(), start);
    CHECK(small.find("four", start) == nullptr);
    CHECK(small.size() == 1);
}

TEST_CASE("what is not asked for for a minute is swept out, some at a time") {
    file_cache cache(4'096);
    CHECK(cache.sweep(start) == file_cache::time_point::max());
    for (int i = 0; i < 150; ++i)
        cache.put(std::to_string(i), some_file(), start);
    CHECK(cache.find("7", start + 2s) != nullptr);
    CHECK(cache.find("8", start + 20s) != nullptr);
    CHECK(cache.sweep(start + 20s) == start + 60s);
    CHECK(cache.sweep(start + 59s) == start + 64s);
    CHECK(cache.size() == 150);
    CHECK(cache.sweep(start + 60s) == start + 60s);
    CHECK(cache.size() == 150 - 64);
    CHECK(cache.sweep(start + 60s) == start + 60s);
    CHECK(cache.sweep(start + 60s) == start + 65s); // not each of them by itself
    CHECK(cache.size() == 2);
    CHECK(cache.sweep(start + 65s) == start + 80s);
    CHECK(cache.find("8", start + 79s) != nullptr);
    CHECK(cache.sweep(start + 80s) == start + 139s);
    CHECK(cache.sweep(start + 139s) == file_cache::time_point::max());
    CHECK(cache.size() == 0);
}

TEST_CASE("a sweeper sweeps until nothing is left, and what it leaves goes with it") {
    inline_scheduler scheduler;
    const auto cache = std::make_shared<file_cache>(10);
    {
        worker_local<file_sweeper> sweepers([cache] { return file_sweeper(cache); });
        const auto put = [&]() -> task<void> {
            routine& self = co_await current_routine;
            cache->put("a", some_file(), self.home().turn_time());
            sweepers->start();
        };
        for (int i = 0; i < 2; ++i) {
            scheduler.spawn(put);
            scheduler.advance(59s);
            CHECK(cache->size() == 1);
            scheduler.advance(1001ms); // a tick later
            CHECK(cache->size() == 0);
            CHECK_FALSE(scheduler.advance_to_next_timer());
        }
        scheduler.spawn(put);
        scheduler.run();
        CHECK(cache->size() == 1);
    }
    CHECK(cache->size() == 0);
    CHECK_FALSE(scheduler.advance_to_next_timer());
}

} // namespace
} // namespace rota::http
