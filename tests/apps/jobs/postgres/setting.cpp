// Queues that several servers set at the same time.

#include <optional>
#include <utility>

#include <catch2/catch_test_macros.hpp>

#include <rota/task_group.hpp>

#include "jobs/postgres/store.hpp"
#include "postgres_schemas.hpp"

using namespace jobs;

namespace {

/// How often the answer was another than what was asked for.
rota::task<void> set_paused(store* of, bool paused, int* others) {
    for (int i = 0; i < 25; ++i) {
        rota::task<std::optional<queue_info>> pausing = of->pause("q", paused, 1);
        const std::optional<queue_info> info = co_await std::move(pausing);
        *others += info && info->settings.paused == paused ? 0 : 1;
    }
}

rota::task<void> pause_and_resume(store* one, store* other, int* others) {
    rota::task_group all(co_await rota::current_context);
    for (store* const each : {one, other}) {
        for (const bool paused : {false, true}) {
            rota::task<void> setting = set_paused(each, paused, others);
            all.spawn(std::move(setting));
        }
    }
    co_await all.join();
}

} // namespace

TEST_CASE("who sets a queue is told what it has set, whatever others do") {
    if (!postgres_for_tests())
        SKIP("ROTA_TEST_POSTGRES names no database");
    const scratch_schema schema;
    postgres_store one(schema.context(), schema.url());
    postgres_store other(schema.context(), schema.url());
    int others = 0;
    schema.context().block_on(pause_and_resume(&one, &other, &others));
    CHECK(others == 0);
}
