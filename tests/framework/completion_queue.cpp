#include <rota/detail/completion_queue.hpp>

#include <array>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

namespace {

struct noter final : rota::completion_handler {
    void complete(std::int32_t result, std::uint32_t flags) noexcept override {
        results.push_back(result);
        flags_seen |= flags;
        if (queue != nullptr) {
            const rota::completion more{.handler = this, .result = result + 100, .flags = 0};
            std::exchange(queue, nullptr)->push(&more, 1);
        }
    }
    std::vector<std::int32_t> results;
    std::uint32_t flags_seen = 0;
    rota::completion_queue* queue = nullptr;
};

} // namespace

TEST_CASE("completions reach their handlers in order, batch after batch") {
    rota::completion_queue queue;
    noter a;
    noter b;
    REQUIRE(queue.empty());
    REQUIRE(queue.drain() == 0);
    const std::array<rota::completion, 3> first{{{.handler = &a, .result = 1, .flags = 2},
                                                 {.handler = &b, .result = 9, .flags = 0},
                                                 {.handler = &a, .result = 2, .flags = 4}}};
    queue.push(first.data(), first.size());
    queue.push(first.data(), 1);
    REQUIRE(queue.size() == 4);
    REQUIRE(queue.drain() == 4);
    REQUIRE(queue.empty());
    REQUIRE(a.results == std::vector<std::int32_t>{1, 2, 1});
    REQUIRE(b.results == std::vector<std::int32_t>{9});
    REQUIRE(a.flags_seen == 6);
}

TEST_CASE("what arrives while a batch is handed out waits for the next") {
    rota::completion_queue queue;
    noter a;
    a.queue = &queue;
    const rota::completion one{.handler = &a, .result = 1, .flags = 0};
    queue.push(&one, 1);
    REQUIRE(queue.drain() == 1);
    REQUIRE(queue.drain() == 1);
    REQUIRE(a.results == std::vector<std::int32_t>{1, 101});
}

TEST_CASE("one thread reaps, another drains: nothing is lost and the order is kept") {
    rota::completion_queue queue;
    noter a;
    constexpr int batches = 5'000;
    std::jthread reaper([&] {
        for (int i = 0; i < batches; ++i) {
            const std::array<rota::completion, 2> batch{
                {{.handler = &a, .result = 2 * i, .flags = 0},
                 {.handler = &a, .result = 2 * i + 1, .flags = 0}}};
            queue.push(batch.data(), batch.size());
        }
    });
    while (a.results.size() < 2 * batches) {
        queue.drain();
    }
    bool in_order = true;
    for (std::size_t i = 0; i < a.results.size(); ++i) {
        in_order = in_order && a.results[i] == static_cast<std::int32_t>(i);
    }
    REQUIRE(in_order);
}
