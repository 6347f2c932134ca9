#include "string_pool.hpp"

#include <set>
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

TEST_CASE("small and large strings are not kept") {
    on_a_thread([] {
        for (const std::size_t size : {std::size_t{20}, string_pool::large_bytes + 1}) {
            std::string s(size, 'x');
            string_pool::keep(s);
            CHECK(s.empty());
            CHECK(s.capacity() < 100);
        }
    });
}

TEST_CASE("strings that one thread keeps are taken by another") {
    std::set<const void*> kept;
    on_a_thread([&] {
        std::vector<std::string> many;
        for (std::size_t i = 0; i <= string_pool::small_max; ++i) {
            many.emplace_back(string_pool::bytes_min, 'x');
            kept.insert(many.back().data());
        }
        for (std::string& s : many)
            string_pool::keep(s);
    });
    on_a_thread([&] {
        std::vector<std::string> taken;
        for (std::size_t i = 0; i < string_pool::small_max / 2; ++i) {
            taken.push_back(string_pool::take(1));
            CHECK(kept.contains(taken.back().data()));
        }
    });
}

TEST_CASE("threads keep no more than there are places for") {
    on_a_thread([] {
        constexpr std::size_t places = string_pool::small_max * (string_pool::depot_shelves + 1);
        constexpr std::size_t marked = string_pool::bytes_min + 1'000; // no fresh one is so large
        for (const std::string& each :
             std::vector<std::string>(2 * places, std::string(marked, 'x'))) {
            std::string s = each;
            string_pool::keep(s);
        }
        std::size_t used_again = 0;
        std::vector<std::string> taken;
        for (std::size_t i = 0; i < 2 * places; ++i) {
            taken.push_back(string_pool::take(1));
            used_again += taken.back().capacity() >= marked ? 1U : 0U;
        }
        CHECK(used_again > string_pool::small_max / 2);
        CHECK(used_again <= places);
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
