#include <rota/detail/job_order.hpp>

#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include <catch2/catch_test_macros.hpp>

namespace {

struct job : rota::job_order::node {};

/// The same with sets: slow and obvious.
struct model {
    std::set<std::uint64_t> queued;
    std::set<std::uint64_t> in_progress;
};

std::vector<std::uint64_t> listed(const rota::job_order& order, rota::job_order::state wanted) {
    std::vector<std::uint64_t> ids;
    for (const auto* n = order.first(); n != nullptr; n = n->next()) {
        if (n->state() == wanted) {
            ids.push_back(n->id());
        }
    }
    return ids;
}

} // namespace

TEST_CASE("jobs are taken in the order of adding, and those put back go first") {
    rota::job_order order;
    job a;
    job b;
    job c;
    job d;
    REQUIRE(order.take() == nullptr);
    order.add(a);
    order.add(b);
    order.add(c);
    REQUIRE(order.take() == &a);
    REQUIRE(order.take() == &b);
    order.add(d);
    order.put_back(b);
    order.put_back(a);
    REQUIRE(order.first_fresh() == &c);
    REQUIRE(order.queued() == 4);
    REQUIRE(order.take() == &a);
    order.remove(a);
    REQUIRE(order.take() == &b);
    REQUIRE(order.take() == &c);
    REQUIRE(order.take() == &d);
    REQUIRE(order.take() == nullptr);
    REQUIRE(order.first_fresh() == nullptr);
    REQUIRE(order.in_progress() == 3);
    REQUIRE(order.first() == &b);
}

TEST_CASE("the order against a model, with random operations") {
    std::mt19937 random(20240607);
    for (int round = 0; round < 20; ++round) {
        rota::job_order order;
        model expected;
        std::vector<std::unique_ptr<job>> jobs;
        std::vector<job*> taken;
        const auto pick = [&] {
            const std::size_t at = random() % taken.size();
            std::swap(taken[at], taken.back());
            job* const j = taken.back();
            taken.pop_back();
            expected.in_progress.erase(j->id());
            return j;
        };
        for (int step = 0; step < 3000; ++step) {
            switch (random() % 8) {
            case 0:
            case 1:
                jobs.push_back(std::make_unique<job>());
                order.add(*jobs.back());
                expected.queued.insert(jobs.back()->id());
                break;
            case 2:
                if (!taken.empty()) {
                    order.remove(*pick());
                }
                break;
            case 3:
            case 4:
                if (!taken.empty()) {
                    job* const j = pick();
                    order.put_back(*j);
                    expected.queued.insert(j->id());
                }
                break;
            default: {
                auto* const j = static_cast<job*>(order.take());
                REQUIRE((j == nullptr) == expected.queued.empty());
                if (j != nullptr) {
                    REQUIRE(j->id() == *expected.queued.begin());
                    expected.queued.erase(expected.queued.begin());
                    expected.in_progress.insert(j->id());
                    taken.push_back(j);
                }
            }
            }
            REQUIRE(order.queued() == expected.queued.size());
            REQUIRE(order.in_progress() == expected.in_progress.size());
        }
        using state = rota::job_order::state;
        const std::vector<std::uint64_t> queued(expected.queued.begin(), expected.queued.end());
        const std::vector<std::uint64_t> busy(expected.in_progress.begin(),
                                              expected.in_progress.end());
        REQUIRE(listed(order, state::queued) == queued);
        REQUIRE(listed(order, state::in_progress) == busy);
    }
}
