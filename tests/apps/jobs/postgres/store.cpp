#include "jobs/postgres/store.hpp"

#include <chrono>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <rota/sleep.hpp>
#include <rota/task_group.hpp>

#include "jobs/postgres/statements.hpp"
#include "postgres_schemas.hpp"

using namespace jobs;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr time_ms now = 1'800'000'000'000;

/// Two servers' stores over one schema.
struct two_stores {
    explicit two_stores(store_limits limits = {})
        : one(schema.context(), schema.url(), limits, {.connections = 3}),
          other(schema.context(), schema.url(), limits, {.connections = 3}) {}
    template <class T>
    T wait(rota::task<T> call) {
        return schema.context().block_on(std::move(call));
    }
    queue_counts counts() { return wait(one.describe("q", now))->counts; }

    scratch_schema schema;
    postgres_store one;
    postgres_store other;
};

rota::task<add_outcome> add_one(store* to, std::string key) {
    std::vector<new_job> jobs;
    jobs.push_back({std::move(key), "1"});
    rota::task<std::vector<add_result>> adding = to->add("q", std::move(jobs), std::nullopt, now);
    const std::vector<add_result> results = co_await std::move(adding);
    co_return results.front().outcome;
}

rota::task<void> add_some(store* to, int from, int count, int* added) {
    for (int i = from; i < from + count; ++i) {
        rota::task<add_outcome> adding = add_one(to, std::to_string(i));
        const add_outcome outcome = co_await std::move(adding);
        *added += outcome == add_outcome::added ? 1 : 0;
    }
}

struct work {
    std::multiset<std::uint64_t> taken{};
    std::size_t acked = 0;
    std::size_t wanted = 0;
};

/// Takes and acknowledges until everything has been.
rota::task<void> consume(store* from, work* all) {
    while (all->acked < all->wanted) {
        std::vector<take_request> some(1, take_request{3, 0});
        rota::task<std::vector<std::vector<taken_job>>> taking =
            from->take("q", std::move(some), now);
        const std::vector<std::vector<taken_job>> got = co_await std::move(taking);
        if (got.front().empty()) {
            rota::task<void> pausing = rota::sleep_for(std::chrono::milliseconds(1));
            co_await std::move(pausing);
            continue;
        }
        std::vector<std::string> leases;
        for (const taken_job& job : got.front()) {
            all->taken.insert(job.id);
            leases.push_back(job.lease_id);
        }
        rota::task<settle_result> settling = from->settle("q", std::move(leases), {}, now);
        const settle_result done = co_await std::move(settling);
        all->acked += done.acked;
    }
}

rota::task<void> run_all(std::vector<rota::task<void>> bodies) {
    rota::task_group all(co_await rota::current_context);
    for (rota::task<void>& body : bodies)
        all.spawn(std::move(body));
    co_await all.join();
}

rota::task<void> take_one(store* from, int* taken) {
    rota::task<std::vector<std::vector<taken_job>>> taking =
        from->take("q", {take_request{1, 0}}, now);
    const std::vector<std::vector<taken_job>> got = co_await std::move(taking);
    *taken += static_cast<int>(got.front().size());
}

} // namespace

TEST_CASE("servers that share queues keep each job in one hand") {
    if (!postgres_for_tests())
        SKIP("ROTA_TEST_POSTGRES names no database");
    two_stores s;
    constexpr int keys = 60;
    work all;
    all.wanted = keys;
    std::vector<int> added(4, 0);
    std::vector<rota::task<void>> bodies;
    for (int i = 0; i < 4; ++i) // each key is added by several, at the same time
        bodies.push_back(add_some(i % 2 == 0 ? &s.one : &s.other, 0, keys, &added.at(i)));
    s.wait(run_all(std::move(bodies)));
    CHECK(added[0] + added[1] + added[2] + added[3] == keys);
    CHECK(s.counts().queued == keys);
    CHECK(s.counts().duplicates == 3 * keys);
    std::vector<rota::task<void>> consumers;
    for (int i = 0; i < 8; ++i)
        consumers.push_back(consume(i % 2 == 0 ? &s.one : &s.other, &all));
    s.wait(run_all(std::move(consumers)));
    CHECK(all.acked == keys);
    CHECK(all.taken.size() == keys);
    CHECK(std::set(all.taken.begin(), all.taken.end()).size() == keys);
    CHECK(s.counts().completed == keys);
    CHECK(s.counts().queued + s.counts().in_progress == 0);
}

TEST_CASE("a limit is kept to the job, whoever adds") {
    if (!postgres_for_tests())
        SKIP("ROTA_TEST_POSTGRES names no database");
    two_stores s;
    CHECK(s.wait(s.one.configure("q", {.max_jobs = 7}, now)));
    std::vector<int> added(6, 0);
    std::vector<rota::task<void>> bodies;
    for (int i = 0; i < 6; ++i)
        bodies.push_back(add_some(i % 2 == 0 ? &s.one : &s.other, 10 * i, 5, &added.at(i)));
    s.wait(run_all(std::move(bodies)));
    CHECK(s.counts().queued == 7);
    CHECK(added[0] + added[1] + added[2] + added[3] + added[4] + added[5] == 7);
}

TEST_CASE("steps outlive their connections") {
    if (!postgres_for_tests())
        SKIP("ROTA_TEST_POSTGRES names no database");
    two_stores s;
    (void)s.wait(add_one(&s.one, "first"));
    const std::string cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE "
                            "application_name = 'rota-jobs' AND pid <> pg_backend_pid() AND "
                            "datname = current_database()";
    for (int i = 0; i < 5; ++i) {
        CHECK(s.schema.run(cut) >= 1);
        CHECK(s.wait(add_one(&s.one, std::to_string(i))) == add_outcome::added);
        CHECK(s.wait(add_one(&s.other, std::to_string(i))) == add_outcome::duplicate);
    }
    CHECK(s.counts().queued == 6);
}

namespace {

/// How the server would go about a statement of the store, for whatever it is given.
rota::task<std::string> plan_of(const scratch_schema* schema, const sql::prepared* statement,
                                std::string with) {
    postgres_connection on(schema->context(), schema->url());
    rota::task<void> opening = on.open(std::chrono::seconds(60));
    co_await std::move(opening);
    for (const char* const each :
         {"SET plan_cache_mode = force_generic_plan", "SET enable_seqscan = off"}) {
        rota::task<postgres_result> setting = on.run(each);
        (void)co_await std::move(setting);
    }
    on.prepare(statement->name, statement->text);
    rota::task<std::vector<postgres_result>> preparing = on.sync();
    (void)co_await std::move(preparing);
    const std::string explain =
        std::string("EXPLAIN EXECUTE ") + statement->name + '(' + std::move(with) + ')';
    rota::task<postgres_result> explaining = on.run(explain.c_str());
    const postgres_result lines = co_await std::move(explaining);
    std::string plan;
    for (int i = 0; i < lines.rows(); ++i)
        plan += std::string(lines.text(i, 0)) + '\n';
    co_return plan;
}

} // namespace

TEST_CASE("a job that is named is found without looking at others of its queue") {
    if (!postgres_for_tests())
        SKIP("ROTA_TEST_POSTGRES names no database");
    const scratch_schema schema;
    {
        postgres_store store(schema.context(), schema.url());
        CHECK(schema.context().block_on(add_one(&store, "k")) == add_outcome::added);
    }
    // The server has not counted them yet: it guesses how many of them are in one queue.
    schema.run("INSERT INTO rota_jobs (queue, id, state, rank, attempts, duplicates, added_at, "
               "since, due, queued_ms, in_progress_ms, digest, token, key, payload) SELECT number, "
               "1000 + i, 2, 9, 1, 0, 1, 1, 1, 0, 0, decode(md5(i::text), 'hex'), "
               "decode(md5('l' || i), 'hex'), 'k', '1' FROM rota_queues, "
               "generate_series(1, 5000) i");
    schema.run("INSERT INTO rota_keys SELECT queue, digest, id FROM rota_jobs WHERE id > 1000");
    const auto plan = [&](const sql::prepared& of, const char* with) {
        return schema.context().block_on(plan_of(&schema, &of, with));
    };
    const std::string others = "rota_jobs_order";
    for (const std::string& each :
         {plan(sql::lock_over, "'q', '{a,b}', 9"), plan(sql::find_digests, "'q', '{a,b}', 9"),
          plan(sql::lock_leases, "'q', '{7}', '{a,b}', 1"), plan(sql::lock_id, "'q', 7"),
          plan(sql::find_job, "'q', 7"), plan(sql::find_digest, "'q', '{a}'"),
          plan(sql::find_dead_digest, "'q', '{a}', 9"), plan(sql::lock_dead_named, "'q', '{7,8}'"),
          plan(sql::find_holders_named, "'q', '{7,8}', 9")})
        CHECK_THAT(each, !ContainsSubstring(others));
    for (const std::string& each :
         {plan(sql::lock_first, "'q', 7"), plan(sql::lock_to_take, "'q', '{7}', 1000"),
          plan(sql::lock_small, "'q', '{7}', 1000"), plan(sql::lock_dead, "'q', 0, 0, 500"),
          plan(sql::find_holders, "'q', 0, 0, 500, 9"), plan(sql::lock_slice, "'q', 500")})
        CHECK_THAT(each, ContainsSubstring(others));
    CHECK_THAT(plan(sql::find_holders, "'q', 0, 0, 500, 9"), ContainsSubstring("rota_keys_digest"));
}

namespace {

/// How many keys are held: by the jobs that are not dead, and by no others.
std::int64_t held_keys(const scratch_schema& schema) {
    CHECK(schema.run("SELECT count(*) FROM rota_keys k FULL JOIN (SELECT * FROM rota_jobs "
                     "WHERE state < 3) j ON j.id = k.id AND j.queue = k.queue AND "
                     "j.digest = k.digest WHERE k.id IS NULL OR j.id IS NULL") == 0);
    return schema.run("SELECT count(*) FROM rota_keys");
}

rota::task<void> revive_one(store* in, std::uint64_t id, revive_result* result) {
    rota::task<revive_result> reviving = in->retry_dead("q", id, now);
    *result = co_await std::move(reviving);
}

rota::task<void> revive_all(store* in, dead_result* result) {
    rota::task<dead_result> reviving = in->settle_dead("q", {}, now);
    *result = co_await std::move(reviving);
}

rota::task<void> add_again(store* to, std::string key, add_outcome* result) {
    rota::task<add_outcome> adding = add_one(to, std::move(key));
    *result = co_await std::move(adding);
}

rota::task<void> remove_slice(store* from, removed_queue* result) {
    rota::task<removed_queue> removing = from->remove_queue("q", true, now);
    *result = co_await std::move(removing);
}

/// As soon as another waits for it; the test's limit is the limit. `free`: how many jobs a look for
/// work finds then.
rota::task<void> commit_when_awaited(postgres_connection* on, std::int64_t* free = nullptr) {
    for (bool awaited = false; !awaited;) {
        rota::task<postgres_result> asking =
            on->run("SELECT count(*) FROM pg_locks WHERE NOT granted AND "
                    "pg_backend_pid() = ANY(pg_blocking_pids(pid))");
        const postgres_result waiting = co_await std::move(asking);
        awaited = waiting.integer(0, 0) != 0;
    }
    if (free != nullptr) {
        rota::task<postgres_result> looking =
            on->run("WITH free AS (SELECT FROM rota_jobs WHERE state = 0 FOR UPDATE SKIP LOCKED) "
                    "SELECT count(*) FROM free");
        const postgres_result found = co_await std::move(looking);
        *free = found.integer(0, 0);
    }
    rota::task<postgres_result> committing = on->run("COMMIT");
    (void)co_await std::move(committing);
}

} // namespace

TEST_CASE("keys are held by the jobs that are not dead, and by no others") {
    if (!postgres_for_tests())
        SKIP("ROTA_TEST_POSTGRES names no database");
    two_stores s;
    const auto held = [&] { return held_keys(s.schema); };
    const auto take = [&] { return s.wait(s.one.take("q", {{1, 0}}, now)).at(0).at(0); };
    const auto kill_first = [&] {
        const taken_job job = take();
        (void)s.wait(s.one.settle("q", {}, {{job.lease_id}}, now));
        return job.id;
    };
    s.wait(s.one.configure("q", {.max_attempts = 1}, now));
    for (const char* const key : {"a", "b", "c", "d"})
        (void)s.wait(add_one(&s.one, key));
    CHECK(held() == 4);
    const std::uint64_t died = kill_first();
    CHECK(held() == 3);
    CHECK(s.wait(s.one.retry_dead("q", died, now)).outcome == revive_outcome::revived);
    CHECK(held() == 4);
    CHECK(kill_first() == died);
    CHECK(s.wait(add_one(&s.one, "a")) == add_outcome::added);
    CHECK(s.wait(s.one.retry_dead("q", died, now)).outcome == revive_outcome::duplicate);
    CHECK(held() == 4);
    CHECK(s.wait(s.one.remove("q", died, now))); // which leaves the key to the other
    CHECK(held() == 4);
    CHECK(s.wait(s.one.settle("q", {take().lease_id}, {}, now)).acked == 1);
    CHECK(held() == 3);
    (void)kill_first();
    (void)s.wait(s.one.purge("q", now));
    CHECK(held() == 0);
}

TEST_CASE("jobs that others ask to add again are there to be taken") {
    if (!postgres_for_tests())
        SKIP("ROTA_TEST_POSTGRES names no database");
    two_stores s;
    s.wait(s.one.configure("q", {.max_attempts = 1}, now));
    for (const char* const key : {"a", "b"}) {
        (void)s.wait(add_one(&s.one, key));
        const taken_job job = s.wait(s.one.take("q", {{1, 0}}, now)).at(0).at(0);
        (void)s.wait(s.one.settle("q", {}, {{job.lease_id}}, now));
    }
    (void)s.wait(add_one(&s.one, "a"));
    postgres_connection counts(s.schema.context(), s.schema.url());
    s.wait(counts.open(std::chrono::seconds(60)));
    (void)s.wait(counts.run("BEGIN"));
    (void)s.wait(counts.run("LOCK TABLE rota_counts IN SHARE MODE"));
    std::vector<rota::task<void>> bodies;
    add_outcome added = add_outcome::duplicate;
    dead_result revived;
    SECTION("by an addition") { bodies.push_back(add_again(&s.one, "a", &added)); }
    SECTION("by reviving dead ones") { bodies.push_back(revive_all(&s.one, &revived)); }
    std::int64_t free = 0;
    bodies.push_back(commit_when_awaited(&counts, &free));
    s.wait(run_all(std::move(bodies)));
    CHECK(free == 1);
    CHECK(added == add_outcome::duplicate);
    CHECK(revived.done == revived.duplicates);
}

TEST_CASE("a dead job is not revived while another server adds one with its key") {
    if (!postgres_for_tests())
        SKIP("ROTA_TEST_POSTGRES names no database");
    two_stores s;
    s.wait(s.one.configure("q", {.max_attempts = 1}, now));
    (void)s.wait(add_one(&s.one, "a"));
    const taken_job died = s.wait(s.one.take("q", {{1, 0}}, now)).at(0).at(0);
    (void)s.wait(s.one.settle("q", {}, {{died.lease_id}}, now));
    CHECK(held_keys(s.schema) == 0);
    postgres_connection adds(s.schema.context(), s.schema.url());
    s.wait(adds.open(std::chrono::seconds(60)));
    for (const char* const each :
         {"BEGIN",
          "INSERT INTO rota_jobs (queue, id, state, rank, attempts, duplicates, added_at, since, "
          "due, queued_ms, in_progress_ms, digest, key, payload) SELECT queue, "
          "nextval('rota_job_ids'), 0, rank, 0, 0, 1, 1, 0, 0, 0, digest, key, '1' FROM rota_jobs",
          "INSERT INTO rota_keys (queue, digest, id) SELECT queue, digest, id FROM rota_jobs "
          "WHERE state = 0"})
        (void)s.wait(adds.run(each));
    revive_result revived;
    std::vector<rota::task<void>> bodies;
    bodies.push_back(revive_one(&s.one, died.id, &revived)); // sees no other, and waits for its key
    bodies.push_back(commit_when_awaited(&adds));
    s.wait(run_all(std::move(bodies)));
    CHECK(revived.outcome == revive_outcome::duplicate);
    CHECK(revived.id != died.id);
    CHECK(held_keys(s.schema) == 1);
}

TEST_CASE("a queue is removed around what others have in hand, and stays while they add to it") {
    if (!postgres_for_tests())
        SKIP("ROTA_TEST_POSTGRES names no database");
    two_stores s;
    (void)s.wait(add_one(&s.one, "a"));
    (void)s.wait(add_one(&s.one, "b"));
    postgres_connection other(s.schema.context(), s.schema.url());
    s.wait(other.open(std::chrono::seconds(60)));
    const auto run = [&](const char* sql) { (void)s.wait(other.run(sql)); };
    run("BEGIN");
    run("SELECT id FROM rota_jobs ORDER BY id LIMIT 1 FOR UPDATE");
    removed_queue result = s.wait(s.one.remove_queue("q", true, now)); // waits for nothing
    CHECK(result.outcome == removal::removed);
    CHECK(result.more);
    CHECK(s.counts().queued == 1);
    run("COMMIT");

    run("BEGIN");
    run("INSERT INTO rota_jobs (queue, id, state, rank, attempts, duplicates, added_at, since, "
        "due, queued_ms, in_progress_ms, digest, key, payload) SELECT queue, "
        "nextval('rota_job_ids'), 0, rank, 0, 0, 1, 1, 0, 0, 0, sha256('c'), 'c', '1' "
        "FROM rota_jobs");
    run("UPDATE rota_counts SET queued = queued + 1 "
        "WHERE shard = (SELECT min(shard) FROM rota_counts)");
    std::vector<rota::task<void>> bodies;
    bodies.push_back(remove_slice(&s.one, &result));
    bodies.push_back(commit_when_awaited(&other));
    s.wait(run_all(std::move(bodies)));
    CHECK(result.more);
    CHECK(s.counts().queued == 1);
    CHECK_FALSE(s.wait(s.one.remove_queue("q", true, now)).more);
    CHECK_FALSE(s.wait(s.one.describe("q", now)));
}

TEST_CASE("many consumers at once are served in several transactions") {
    if (!postgres_for_tests())
        SKIP("ROTA_TEST_POSTGRES names no database");
    const scratch_schema schema;
    postgres_store store(schema.context(), schema.url(), {}, {.connections = 1});
    constexpr int jobs = 300;
    int added = 0;
    schema.context().block_on(add_some(&store, 0, jobs, &added));
    int taken = 0;
    std::vector<rota::task<void>> takers;
    takers.reserve(jobs);
    for (int i = 0; i < jobs; ++i)
        takers.push_back(take_one(&store, &taken));
    schema.context().block_on(run_all(std::move(takers)));
    CHECK(taken == jobs);
    // Each would be in memory with up to take_bytes_max. Rows tell who wrote them.
    CHECK_NOTHROW(
        schema.run("DO $$ BEGIN IF EXISTS (SELECT FROM rota_jobs GROUP BY xmin::text "
                   "HAVING count(*) > 100) THEN RAISE 'too many in one'; END IF; END $$"));
}

TEST_CASE("a store does with fewer connections than it would like") {
    if (!postgres_for_tests())
        SKIP("ROTA_TEST_POSTGRES names no database");
    const scratch_schema schema;
    const std::string role = "few_" + std::to_string(::getpid());
    schema.run("CREATE ROLE " + role + " LOGIN CONNECTION LIMIT 1");
    schema.run("DO $$ BEGIN EXECUTE 'GRANT ALL ON SCHEMA ' || current_schema || ' TO " + role +
               "'; END $$");
    std::string url = schema.url();
    url.replace(url.find("//") + 2, url.find('@') - url.find("//") - 2, role);
    {
        postgres_store store(schema.context(), url, {}, {.connections = 4});
        std::vector<int> added(5, 0);
        std::vector<rota::task<void>> bodies;
        for (int i = 0; i < 5; ++i)
            bodies.push_back(add_some(&store, 10 * i, 5, &added.at(i)));
        schema.context().block_on(run_all(std::move(bodies)));
        CHECK(schema.context().block_on(store.describe("q", now))->counts.queued == 25);
    }
    schema.run("DROP OWNED BY " + role + " CASCADE");
    schema.run("DROP ROLE " + role);
}

namespace {

struct heard final : store_listener {
    void changed(std::span<const change> what) noexcept override {
        for (const change& each : what)
            note(each.kind == change_kind::added ? "added" : "other");
    }
    void look_again(const std::string& queue, time_ms due) noexcept override {
        note(due == 0 ? "jobs in " + queue : "due " + std::to_string(due));
    }
    void note(std::string what) {
        const std::lock_guard guard(lock);
        all.insert(std::move(what));
    }
    bool has(const std::string& what) {
        const std::lock_guard guard(lock);
        return all.contains(what);
    }
    std::mutex lock;
    std::set<std::string> all;
};

/// Until it has been heard; the test's limit is the limit.
void wait_until_heard(rota::io::context& on, heard& by, const std::string& what) {
    while (!by.has(what))
        on.block_on(rota::sleep_for(std::chrono::milliseconds(5)));
}

} // namespace

TEST_CASE("servers hear of what others do") {
    if (!postgres_for_tests())
        SKIP("ROTA_TEST_POSTGRES names no database");
    two_stores s;
    heard ears;
    s.other.listen(&ears);
    SECTION("by what they are told") {
        // The first ones may come before the other listens.
        for (int i = 0; !ears.has("added"); ++i) {
            (void)s.wait(add_one(&s.one, std::to_string(i)));
            s.wait(rota::sleep_for(std::chrono::milliseconds(5)));
        }
    }
    SECTION("or by looking, if they were told nothing") {
        std::vector<take_request> wanted(1, take_request{1, 0});
        (void)s.wait(add_one(&s.one, "first"));
        (void)s.wait(s.one.purge("q", now));
        CHECK(s.wait(s.other.take("q", wanted, now)).at(0).empty());
        s.schema.run("INSERT INTO rota_jobs (queue, id, state, rank, attempts, duplicates, "
                     "added_at, since, due, queued_ms, in_progress_ms, digest, key, payload) "
                     "SELECT number, 1000000, 0, 9, 0, 0, 1, 1, 0, 0, 0, '\\x00', 'k', '1' FROM "
                     "rota_queues");
        wait_until_heard(s.schema.context(), ears, "jobs in q");
        s.schema.run("UPDATE rota_jobs SET due = 77, state = 1");
        wait_until_heard(s.schema.context(), ears, "due 77");
    }
    s.other.listen(nullptr);
}
