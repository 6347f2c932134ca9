#include "file_cache.hpp"

#include <memory>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

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

TEST_CASE("what is not asked for goes in time, when others are") {
    file_cache cache(100);
    for (int i = 0; i < 50; ++i)
        cache.put(std::to_string(i), some_file(), start);
    CHECK(cache.find("7", start + 59s) != nullptr);
    CHECK(cache.size() == 50);
    CHECK(cache.find("none", start + 61s) == nullptr);
    CHECK(cache.size() == 1);
    CHECK(cache.find("7", start + 61s) != nullptr);
}

} // namespace
} // namespace rota::http
