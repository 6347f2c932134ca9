// Jobs are taken by several at a time: what one is not given is there for the others.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "jobs/postgres/statements.hpp"
#include "jobs/postgres/store.hpp"
#include "postgres_schemas.hpp"

using namespace jobs;

namespace {

constexpr time_ms taken_at = 1'800'000'000'000;

rota::task<void> add_sizes(store* to, std::vector<std::size_t> sizes) {
    std::vector<new_job> jobs;
    for (std::size_t i = 0; i < sizes.size(); ++i)
        jobs.push_back({std::to_string(i), '"' + std::string(sizes[i] - 2, 'x') + '"'});
    rota::task<std::vector<add_result>> adding =
        to->add("q", std::move(jobs), std::nullopt, taken_at);
    (void)co_await std::move(adding);
}

/// A server that has begun to take, and not committed.
class slow_taker {
public:
    slow_taker(const scratch_schema& schema, std::string maxes)
        : on_(schema.context()), over_(on_, schema.url()) {
        given_ = on_.block_on(begin(std::move(maxes)));
    }
    /// Nothing is locked by it any more.
    ~slow_taker() { on_.block_on(end()); }
    slow_taker(const slow_taker&) = delete;
    slow_taker& operator=(const slow_taker&) = delete;
    [[nodiscard]] int given() const { return given_; }

private:
    rota::task<int> begin(std::string maxes) {
        rota::task<void> opening = over_.open(std::chrono::seconds(60));
        co_await std::move(opening);
        over_.prepare(sql::lock_to_take.name, sql::lock_to_take.text);
        over_.send_text("BEGIN");
        const std::string take =
            "EXECUTE lock_to_take('q', '{" + std::move(maxes) + "}', 16777216)";
        over_.send_text(take.c_str());
        rota::task<std::vector<postgres_result>> taking = over_.sync();
        const std::vector<postgres_result> results = co_await std::move(taking);
        require_ok(results);
        co_return results.back().rows();
    }

    rota::task<void> end() {
        over_.send_text("ROLLBACK");
        (void)co_await over_.sync();
    }

    rota::io::context& on_;
    postgres_connection over_;
    int given_ = 0;
};

struct taking {
    explicit taking(const std::vector<std::size_t>& sizes) {
        schema.context().block_on(add_sizes(&store, sizes));
    }
    /// Keys of what another gets then.
    std::string next(std::size_t max = 1) {
        const auto got =
            schema.context().block_on(store.take("q", {take_request{max, 0}}, taken_at));
        std::string keys;
        for (const taken_job& job : got.front())
            keys += job.key + ' ';
        return keys;
    }

    scratch_schema schema;
    postgres_store store{schema.context(), schema.url(), {}, {.connections = 1}};
};

constexpr std::size_t large = 262'144;

} // namespace

TEST_CASE("a take locks no more jobs than it is given") {
    if (!postgres_for_tests())
        SKIP("ROTA_TEST_POSTGRES names no database");
    taking all(std::vector<std::size_t>(70, large));
    {
        const slow_taker one(all.schema, "1000");
        CHECK(one.given() == 64);
        CHECK(all.next() == "64 ");
        CHECK(all.next(1'000) == "65 66 67 68 69 ");
    }
    CHECK(all.next() == "0 ");
}

TEST_CASE("takers of one step lock no more than each of them is given") {
    if (!postgres_for_tests())
        SKIP("ROTA_TEST_POSTGRES names no database");
    taking all(std::vector<std::size_t>(70, large));
    const slow_taker two(all.schema, "1000,1");
    CHECK(two.given() == 65);
    CHECK(all.next() == "65 ");
}

TEST_CASE("a few large jobs among small ones leave a take as it is") {
    if (!postgres_for_tests())
        SKIP("ROTA_TEST_POSTGRES names no database");
    std::vector<std::size_t> sizes(1'000, 10);
    for (std::size_t i = 0; i < sizes.size(); i += 20)
        sizes[i] = large;
    taking all(sizes);
    const slow_taker one(all.schema, "900");
    CHECK(one.given() == 900);
    CHECK(all.next() == "900 ");
}

TEST_CASE("large jobs behind small ones are given as they fit, and the rest to the next") {
    if (!postgres_for_tests())
        SKIP("ROTA_TEST_POSTGRES names no database");
    std::vector<std::size_t> sizes(10, 10);
    sizes.resize(150, large);
    taking all(sizes);
    CHECK(all.next(5) == "0 1 2 3 4 "); // so that the next is taken for one of small jobs
    std::string taken;
    for (const std::size_t many : {68, 64, 13}) { // 16 MiB: 63 of the large ones and the small ones
        const std::string keys = all.next(1'000);
        CHECK(std::ranges::count(keys, ' ') == static_cast<std::ptrdiff_t>(many));
        taken += keys;
    }
    std::string expected;
    for (int i = 5; i < 150; ++i)
        expected += std::to_string(i) + ' ';
    CHECK(taken == expected);
}

TEST_CASE("a job that is larger than all that may be given at once is given") {
    if (!postgres_for_tests())
        SKIP("ROTA_TEST_POSTGRES names no database");
    const std::size_t huge = 17'000'000;
    taking all({huge, huge, 10});
    const slow_taker one(all.schema, "1000");
    CHECK(one.given() == 1);
    CHECK(all.next() == "1 ");
    CHECK(all.next() == "2 ");
}

TEST_CASE("a lack of memory is told in words by a server's store, too") {
    if (!postgres_for_tests())
        SKIP("ROTA_TEST_POSTGRES names no database");
    const scratch_schema schema;
    postgres_store store(schema.context(), schema.url(), {}, {},
                         []() -> std::string { throw std::bad_alloc(); });
    schema.context().block_on(add_sizes(&store, {10}));
    CHECK_THROWS_WITH(schema.context().block_on(store.take("q", {take_request{}}, taken_at)),
                      "the job store cannot be used: out of memory");
}
