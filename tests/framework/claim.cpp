#include <rota/claim.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>

TEST_CASE("the first branch has the claim, and keeps it") {
    rota::claim c;
    const int a = 0;
    const int b = 0;
    REQUIRE(c.take(&a));
    REQUIRE_FALSE(c.take(&b));
    REQUIRE(c.take(&a));
}

TEST_CASE("an attempt decides the race as long as it lasts, and for good once it is served") {
    rota::claim c;
    const int a = 0;
    const int b = 0;
    {
        const rota::claim::attempt looks(c, &a);
        REQUIRE_FALSE(looks.lost());
        REQUIRE_FALSE(c.take(&b)); // a branch does not serve another of its race
    }
    {
        rota::claim::attempt looks(c, &b);
        REQUIRE_FALSE(looks.lost());
        looks.served();
    }
    REQUIRE_FALSE(c.take(&a));
    REQUIRE(c.take(&b));
    const rota::claim::attempt late(c, &a);
    REQUIRE(late.lost());
}

TEST_CASE("of branches on several threads one has it") {
    for (int round = 0; round < 200; ++round) {
        rota::claim c;
        std::atomic<int> had{0};
        const std::array<int, 3> branches{};
        {
            std::vector<std::jthread> threads;
            for (std::size_t i = 0; i < 3; ++i)
                threads.emplace_back([&c, &had, &branch = branches.at(i), i] {
                    if (i == 0) {
                        rota::claim::attempt looks(c, &branch);
                        if (!looks.lost()) {
                            looks.served();
                            ++had;
                        }
                    } else if (c.take(&branch)) {
                        ++had;
                    }
                });
        }
        REQUIRE(had == 1);
    }
}
