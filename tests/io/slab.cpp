#include "slab.hpp"

#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>

using rota::io::slab;

namespace {

constexpr std::size_t block_bytes = 900;
constexpr std::size_t many = 1'000;

} // namespace

TEST_CASE("blocks are apart, aligned, and keep what is written to them") {
    slab memory(block_bytes);
    std::vector<void*> taken;
    for (std::size_t i = 0; i < many; ++i) {
        taken.push_back(memory.take());
        REQUIRE(reinterpret_cast<std::uintptr_t>(taken.back()) % alignof(std::max_align_t) == 0);
        std::memset(taken.back(), static_cast<int>(i % 251), block_bytes);
    }
    CHECK(std::set<void*>(taken.begin(), taken.end()).size() == many);
    for (std::size_t i = 0; i < many; ++i) {
        const auto* const bytes = static_cast<const unsigned char*>(taken[i]);
        REQUIRE(bytes[0] == i % 251);
        REQUIRE(bytes[block_bytes - 1] == i % 251);
        memory.give_back(taken[i]);
    }
}

TEST_CASE("what has come back is taken again, and empty chunks go") {
    slab memory(block_bytes);
    std::vector<void*> taken(many);
    std::size_t most = 0;
    for (int round = 0; round < 3; ++round) {
        for (void*& block : taken)
            block = memory.take();
        if (round == 0)
            most = memory.chunks();
        CHECK(memory.chunks() == most);
        // Every second one first, so that all chunks have holes.
        for (std::size_t i = 0; i < many; i += 2)
            memory.give_back(taken[i]);
        CHECK(memory.chunks() == most);
        for (std::size_t i = 0; i < many; i += 2)
            taken[i] = memory.take();
        CHECK(memory.chunks() == most);
        for (void* block : taken)
            memory.give_back(block);
        CHECK(memory.chunks() <= 1);
    }
}

TEST_CASE("blocks may come back after their slab, on any thread") {
    std::vector<void*> left;
    {
        slab memory(block_bytes);
        std::vector<void*> others;
        for (std::size_t i = 0; i < many; ++i)
            (i % 3 == 0 ? left : others).push_back(memory.take());
        for (void* block : others)
            memory.give_back(block);
        slab::give_back_late(left.back());
        left.pop_back();
    }
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < 3; ++t) {
        threads.emplace_back([&left, t] {
            for (std::size_t i = t; i < left.size(); i += 3) {
                std::memset(left[i], 1, block_bytes); // it is still there
                slab::give_back_late(left[i]);
            }
        });
    }
    for (std::thread& t : threads)
        t.join();
}
