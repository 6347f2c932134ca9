#include "jobs/postgres/store.hpp"

#include <chrono>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/task_group.hpp>

#include "postgres_schemas.hpp"

// Transactions wait for rows in one order (statements.cpp): what the server has to end because they
// wait for each other it counts.

using namespace jobs;

namespace {

constexpr time_ms at = 1'800'000'000'000;
const std::string contested = "q";

rota::task<void> take_and_settle(store* in) {
    std::vector<take_request> wanted(1, take_request{5, 0});
    rota::task<std::vector<std::vector<taken_job>>> taking =
        in->take(contested, std::move(wanted), at);
    const std::vector<std::vector<taken_job>> got = co_await std::move(taking);
    std::vector<std::string> acks;
    std::vector<retry> retries;
    for (const taken_job& job : got.front()) {
        if (job.id % 2 == 0)
            acks.push_back(job.lease_id);
        else
            retries.push_back({job.lease_id}); // which is its end
    }
    rota::task<settle_result> settling =
        in->settle(contested, std::move(acks), std::move(retries), at);
    (void)co_await std::move(settling);
}

/// With the same few keys, in any order, and of two ranks.
rota::task<void> add_any(store* to, std::minstd_rand* random) {
    std::vector<new_job> several;
    const std::size_t count = 1 + (*random)() % 10;
    while (several.size() != count)
        several.push_back(
            {std::to_string((*random)() % 30), "1", 0, static_cast<int>((*random)() % 2)});
    std::optional<idempotency> token;
    if (count == 1)
        token = idempotency{std::to_string((*random)() % 5), 1};
    rota::task<std::vector<add_result>> adding = to->add(contested, std::move(several), token, at);
    (void)co_await std::move(adding);
}

rota::task<void> do_any(store* in, std::minstd_rand* random) {
    switch ((*random)() % 8) {
    case 0: {
        rota::task<removed_queue> removing = in->remove_queue(contested, true, at);
        (void)co_await std::move(removing);
        break;
    }
    case 1: {
        rota::task<std::uint64_t> purging = in->purge(contested, at);
        (void)co_await std::move(purging);
        break;
    }
    case 2: {
        rota::task<dead_result> reviving = in->settle_dead(contested, {}, at);
        (void)co_await std::move(reviving);
        break;
    }
    case 3: {
        const queue_settings to{.max_attempts = 1};
        rota::task<std::optional<queue_info>> setting = in->configure(contested, to, at);
        (void)co_await std::move(setting);
        break;
    }
    case 4: {
        rota::task<void> taking = take_and_settle(in);
        co_await std::move(taking);
        break;
    }
    default: {
        rota::task<void> adding = add_any(in, random);
        co_await std::move(adding);
    }
    }
}

rota::task<void> do_many(store* in, unsigned seed) {
    std::minstd_rand random(seed);
    for (int i = 0; i < 60; ++i) {
        rota::task<void> one = do_any(in, &random);
        co_await std::move(one);
    }
}

rota::task<void> do_all(std::vector<store*> stores) {
    rota::task_group all(co_await rota::current_context);
    for (unsigned i = 0; i < 12; ++i)
        all.spawn(do_many(stores[i % stores.size()], 1 + i));
    co_await all.join();
}

/// How many the server has ended, in all. A connection says what it has counted at its end, at the
/// latest: first waits for the end of those that are younger than this one.
rota::task<std::int64_t> circles_seen(postgres_connection* by) {
    for (bool younger = true; younger;) {
        rota::task<postgres_result> asking =
            by->run("SELECT count(*) FROM pg_stat_activity younger JOIN pg_stat_activity own "
                    "ON younger.backend_start > own.backend_start "
                    "AND younger.application_name = 'rota-jobs' WHERE own.pid = pg_backend_pid()");
        const postgres_result there = co_await std::move(asking);
        younger = there.integer(0, 0) != 0;
    }
    rota::task<postgres_result> asking =
        by->run("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()");
    const postgres_result seen = co_await std::move(asking);
    co_return seen.integer(0, 0);
}

} // namespace

TEST_CASE("no steps wait for each other in a circle") {
    if (!postgres_for_tests())
        SKIP("ROTA_TEST_POSTGRES names no database");
    const scratch_schema schema;
    postgres_connection looks(schema.context(), schema.url());
    schema.context().block_on(looks.open(std::chrono::seconds(60)));
    const std::int64_t before = schema.context().block_on(circles_seen(&looks));
    {
        postgres_store one(schema.context(), schema.url(), {}, {.connections = 4});
        postgres_store other(schema.context(), schema.url(), {}, {.connections = 4});
        schema.context().block_on(do_all({&one, &other}));
    }
    CHECK(schema.context().block_on(circles_seen(&looks)) == before);
    CHECK(schema.run("SELECT count(*) FROM rota_jobs WHERE queue NOT IN "
                     "(SELECT number FROM rota_queues)") == 0);
    CHECK(schema.run("SELECT coalesce(sum(queued + delayed + in_progress + dead), 0)::bigint "
                     "FROM rota_counts") == schema.run("SELECT count(*) FROM rota_jobs"));
    CHECK(schema.run("SELECT count(*) FROM rota_tokens WHERE queue NOT IN "
                     "(SELECT number FROM rota_queues)") == 0);
}
