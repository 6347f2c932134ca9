#include <rota/least_loaded_scheduler.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/runtime.hpp>

namespace {

using range = std::pair<std::size_t, std::size_t>;

std::vector<range> batches(std::size_t workers, std::size_t batch, int count) {
    rota::least_loaded_scheduler scheduler(batch);
    std::vector<range> result;
    for (int i = 0; i < count; ++i) {
        result.push_back(scheduler.next_batch(workers));
    }
    return result;
}

} // namespace

TEST_CASE("batches of the references: 22 workers, 8 in a batch") {
    REQUIRE(batches(22, 8, 7) ==
            std::vector<range>{{0, 8}, {8, 16}, {16, 22}, {0, 8}, {8, 16}, {16, 22}, {0, 8}});
}

TEST_CASE("a batch may be all workers, however many") {
    rota::least_loaded_scheduler scheduler(std::numeric_limits<std::size_t>::max());
    CHECK(scheduler.next_batch(3) == std::pair<std::size_t, std::size_t>(0, 3));
    CHECK(scheduler.pick(3, [](std::size_t) { return rota::worker_load{}; }) < 3);
}

TEST_CASE("batches of other sizes") {
    REQUIRE(batches(3, 2, 4) == std::vector<range>{{0, 2}, {2, 3}, {0, 2}, {2, 3}});
    REQUIRE(batches(24, 8, 4) == std::vector<range>{{0, 8}, {8, 16}, {16, 24}, {0, 8}});
    REQUIRE(batches(4, 1, 5) == std::vector<range>{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {0, 1}});
    REQUIRE(batches(2, 0, 3) == std::vector<range>{{0, 1}, {1, 2}, {0, 1}}); // 0 counts as 1
    REQUIRE(rota::least_loaded_scheduler().batch_size() == 8);
}

TEST_CASE("the rotation survives a change of the number of workers") {
    rota::least_loaded_scheduler scheduler(8);
    REQUIRE(scheduler.next_batch(22) == range{0, 8});
    REQUIRE(scheduler.next_batch(22) == range{8, 16});
    for (std::size_t workers = 9; workers < 40; ++workers) {
        const auto [first, last] = scheduler.next_batch(workers);
        REQUIRE(first < last);
        REQUIRE(last <= workers);
        REQUIRE(last - first <= 8);
    }
}

TEST_CASE("the lightest of all workers is picked when they fit a batch") {
    rota::least_loaded_scheduler scheduler(8);
    const std::vector<rota::worker_load> loads{{3, 0}, {1, 7}, {1, 2}, {2, 0}};
    for (int i = 0; i < 5; ++i) {
        REQUIRE(scheduler.pick(loads.size(), [&](std::size_t w) { return loads[w]; }) == 2);
    }
}

TEST_CASE("the lightest of the batch is picked, not of all") {
    rota::least_loaded_scheduler scheduler(2);
    const std::vector<rota::worker_load> loads{{5, 0}, {4, 0}, {9, 0}, {8, 0}, {0, 0}};
    std::vector<std::size_t> picked;
    for (int i = 0; i < 6; ++i) {
        picked.push_back(scheduler.pick(loads.size(), [&](std::size_t w) { return loads[w]; }));
    }
    REQUIRE(picked == std::vector<std::size_t>{1, 3, 4, 1, 3, 4});
}

TEST_CASE("equal loads take turns") {
    rota::least_loaded_scheduler scheduler(8);
    std::vector<int> count(4);
    for (int i = 0; i < 400; ++i) {
        ++count[scheduler.pick(4, [](std::size_t) { return rota::worker_load{}; })];
    }
    REQUIRE(count == std::vector<int>{100, 100, 100, 100});
}

TEST_CASE("with equal loads every worker gets its turn, whatever their number and the batch size") {
    for (const std::size_t batch : {1U, 2U, 3U, 4U, 5U, 7U, 8U, 9U, 16U, 31U, 64U, 255U, 256U}) {
        for (std::size_t workers = 1; workers <= 256; ++workers) {
            rota::least_loaded_scheduler scheduler(batch);
            std::vector<std::size_t> count(workers);
            const std::size_t batches = (workers + batch - 1) / batch;
            // As many rounds over the batches as a full one has workers.
            const std::size_t full = std::min<std::size_t>(workers, batch);
            for (std::size_t i = 0; i < batches * full; ++i)
                ++count[scheduler.pick(workers, [](std::size_t) { return rota::worker_load{}; })];
            INFO(workers << " workers, batches of " << batch);
            const std::size_t in_last = workers - (batches - 1) * batch;
            for (std::size_t w = 0; w < workers; ++w) {
                const std::size_t in_batch = w / batch < batches - 1 ? full : in_last;
                if (count[w] < full / in_batch || count[w] > (full + in_batch - 1) / in_batch)
                    FAIL_CHECK("worker " << w << " was picked " << count[w] << " times");
            }
        }
    }
}

TEST_CASE("10,000 picks of equally light workers are as even as dice, or more so") {
    for (const std::size_t workers : {2U, 8U, 9U, 16U, 22U, 64U, 100U, 255U, 256U}) {
        for (const std::size_t batch : {2U, 8U, 13U, 64U}) {
            rota::least_loaded_scheduler scheduler(batch);
            std::vector<double> count(workers);
            for (int i = 0; i < 10'000; ++i)
                ++count[scheduler.pick(workers, [](std::size_t) { return rota::worker_load{}; })];
            const std::size_t batches = (workers + batch - 1) / batch;
            double chi_square = 0;
            for (std::size_t w = 0; w < workers; ++w) {
                // Batches take turns; the last may be smaller.
                const std::size_t in_batch = std::min(batch, workers - w / batch * batch);
                const double expected = 10'000.0 / static_cast<double>(batches * in_batch);
                chi_square += (count[w] - expected) * (count[w] - expected) / expected;
            }
            INFO(workers << " workers, batches of " << batch);
            // Its mean for dice is about the number of workers; half of that would be rare.
            CHECK(chi_square <= static_cast<double>(workers) / 2);
        }
    }
}

TEST_CASE("idle keep-alive clients spread evenly, in one batch and over several") {
    for (const std::size_t workers : {3U, 8U, 22U}) {
        rota::least_loaded_scheduler scheduler(8);
        std::vector<rota::worker_load> loads(workers);
        for (std::size_t i = 0; i < 10 * workers; ++i) {
            const std::size_t w =
                scheduler.pick(workers, [&](std::size_t at) { return loads[at]; });
            ++loads[w].connections; // it stays, and does nothing
        }
        std::size_t least = loads[0].connections;
        std::size_t most = least;
        for (const rota::worker_load& l : loads) {
            least = std::min(least, l.connections);
            most = std::max(most, l.connections);
        }
        // Batches take turns, so where the last is smaller its workers get a little more each.
        REQUIRE(least >= 8);
        REQUIRE(most <= (workers == 22 ? 13U : 10U));
        REQUIRE((workers == 22 || least == most));
    }
}

TEST_CASE("idle connections spread over the workers of a runtime") {
    rota::runtime rt({.workers = 4, .batch_size = 8});
    for (int i = 0; i < 40; ++i) {
        const rota::assignment place = rt.assign();
        place.get().add_connection();
    }
    for (const rota::worker_status& w : rt.workers()) {
        REQUIRE(w.connections == 10);
    }
}
