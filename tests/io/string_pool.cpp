#include "string_pool.hpp"

#include <string>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>

using rota::io::string_pool;

namespace {

/// Each test has a thread of its own, whose pool is empty.
template <class What>
void on_a_thread(What what) {
    std::jthread(what).join();
}

} // namespace

TEST_CASE("a string that is kept is taken again, empty, with its memory") {
    on_a_thread([] {
        std::string s = string_pool::take(10'000);
        CHECK(s.empty());
        CHECK(s.capacity() >= 10'000);
        s.assign(10'000, 'x');
        const char* const memory = s.data();
        string_pool::keep(s);
        CHECK(s.empty());
        CHECK(s.capacity() < 100);
        const std::string again = string_pool::take(5'000);
        CHECK(again.empty());
        CHECK(static_cast<const void*>(again.data()) == memory);
        CHECK(static_cast<const void*>(string_pool::take(5'000).data()) != memory);
    });
}

TEST_CASE("what is taken has room for what was asked for") {
    on_a_thread([] {
        std::string small = string_pool::take(1);
        CHECK(small.capacity() >= string_pool::bytes_min);
        string_pool::keep(small);
        CHECK(string_pool::take(10'000).capacity() >= 10'000);
    });
}

TEST_CASE("small and large strings are not kept, nor more than there are places for") {
    on_a_thread([] {
        (void)string_pool::take(1);
        for (const std::size_t size : {std::size_t{20}, string_pool::large_bytes + 1}) {
            std::string s(size, 'x');
            string_pool::keep(s);
            CHECK(s.empty());
            CHECK(s.capacity() < 100);
        }
        std::vector<std::string> many;
        for (std::size_t i = 0; i < string_pool::small_max + 10; ++i)
            many.emplace_back(string_pool::bytes_min, 'x');
        const char* const last_that_fits = many[string_pool::small_max - 1].data();
        for (std::string& s : many)
            string_pool::keep(s);
        CHECK(static_cast<const void*>(string_pool::take(1).data()) == last_that_fits);
    });
}

TEST_CASE("little is not given the memory of much") {
    on_a_thread([] {
        std::string large = string_pool::take(60'000);
        string_pool::keep(large);
        CHECK(string_pool::take(600).capacity() <= string_pool::small_bytes);
        CHECK(string_pool::take(60'000).capacity() >= 60'000);
    });
}
