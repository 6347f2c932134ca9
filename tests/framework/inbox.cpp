#include <rota/detail/inbox.hpp>

#include <array>
#include <memory>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>

namespace {

struct item : rota::runnable {
    item() : runnable([](rota::runnable&) noexcept {}) {}
    int producer = 0;
    int number = 0;
};

} // namespace

TEST_CASE("the inbox gives what was posted in order, all at once") {
    rota::inbox box;
    rota::run_queue out;
    std::array<item, 3> items;
    REQUIRE(box.empty());
    REQUIRE(box.drain_into(out) == 0);
    REQUIRE(box.push(items[0]));
    REQUIRE_FALSE(box.push(items[1]));
    REQUIRE_FALSE(box.empty());
    REQUIRE(box.drain_into(out) == 2);
    REQUIRE(box.empty());
    REQUIRE(box.push(items[2]));
    REQUIRE(box.drain_into(out) == 1);
    for (item& i : items) {
        REQUIRE(out.pop() == &i);
    }
}

TEST_CASE("many producers: nothing is lost, and each one's order is kept") {
    constexpr int producers = 4;
    constexpr int each = 20'000;
    rota::inbox box;
    std::vector<std::unique_ptr<item[]>> items;
    for (int p = 0; p < producers; ++p) {
        items.push_back(std::make_unique<item[]>(each));
    }
    std::vector<std::jthread> threads;
    for (int p = 0; p < producers; ++p) {
        threads.emplace_back([&box, p, mine = items[static_cast<std::size_t>(p)].get()] {
            for (int i = 0; i < each; ++i) {
                mine[i].producer = p;
                mine[i].number = i;
                box.push(mine[i]);
            }
        });
    }
    std::array<int, producers> next{};
    bool in_order = true;
    for (int taken = 0; taken < producers * each;) {
        rota::run_queue out;
        box.drain_into(out);
        while (rota::runnable* const r = out.pop()) {
            const auto& i = static_cast<item&>(*r);
            in_order = in_order && next[static_cast<std::size_t>(i.producer)]++ == i.number;
            ++taken;
        }
    }
    REQUIRE(in_order);
    REQUIRE(box.empty());
}
