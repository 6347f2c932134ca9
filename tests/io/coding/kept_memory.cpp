#include "kept_memory.hpp"

#include <csetjmp>
#include <cstring>
#include <fstream>
#include <limits>

#include <unistd.h>

#include <catch2/catch_test_macros.hpp>

namespace rota::coding {
namespace {

TEST_CASE("a block that is given back is the next one of its size") {
    kept_memory from(100'000);
    void* const first = from.take(50'000);
    REQUIRE(first != nullptr);
    std::memset(first, 1, 50'000);
    void* const other = from.take(10);
    const std::size_t held = from.bytes();
    CHECK(held >= 50'010);
    from.give_back(first);
    CHECK(from.bytes() == held);
    CHECK(from.take(50'000) == first);
    CHECK(from.bytes() == held);
    from.give_back(nullptr);
    from.give_back(first);
    from.give_back(other);
}

TEST_CASE("no more is kept than was said") {
    kept_memory from(100'000);
    for (std::size_t size = 1'000; size < 60'000; size += 1'000)
        from.give_back(from.take(size));
    CHECK(from.bytes() <= 100'000);
    from.give_back(from.take(1'000'000));
    CHECK(from.bytes() <= 100'000);
}

std::size_t resident_bytes() {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages >> pages;
    return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

TEST_CASE("what is large goes back to the system at once") {
    constexpr std::size_t window = 1U << 24;
    kept_memory from(100'000);
    const std::size_t before = resident_bytes();
    for (int i = 0; i < 3; ++i) {
        void* const block = from.take(window);
        REQUIRE(block != nullptr);
        std::memset(block, 1, window);
        from.give_back(block);
        CHECK(resident_bytes() < before + window / 2);
    }
    CHECK(from.bytes() == 0);
    std::memset(from.take(window), 1, window); // freed at the end
}

TEST_CASE("what nobody has is null") {
    kept_memory from(100);
    CHECK(from.take(std::numeric_limits<std::size_t>::max()) == nullptr);
    CHECK(from.take(std::numeric_limits<std::size_t>::max() / 4) == nullptr);
    CHECK(from.bytes() == 0);
}

TEST_CASE("what is taken is freed at once, or at the end") {
    kept_memory from(100'000);
    from.give_back(from.take(1'000));
    const std::size_t kept = from.bytes();
    (void)from.take(20);
    void* const middle = from.take(300);
    (void)from.take(4'000);
    from.give_back(middle);
    from.free_taken();
    CHECK(from.bytes() >= kept + 300);
    CHECK(from.bytes() < kept + 4'000);
    (void)from.take(50'000); // which a sanitizer would miss
}

TEST_CASE("a call leaves when there is no memory, by the way that was said") {
    kept_memory from(100);
    std::jmp_buf way_out;
    from.leave_to(&way_out);
    bool volatile gone_on = false;
    if (setjmp(way_out) == 0) {
        (void)from.take(std::numeric_limits<std::size_t>::max() / 4);
        gone_on = true;
    }
    CHECK(!gone_on);
    CHECK(from.take(std::numeric_limits<std::size_t>::max() / 4) == nullptr); // taken once
}

} // namespace
} // namespace rota::coding
