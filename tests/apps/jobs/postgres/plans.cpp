#include "jobs/postgres/statements.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include "jobs/postgres/store.hpp"
#include "postgres_schemas.hpp"
#include <rota/json/document.hpp>

// What each statement reads of tables that are large, whatever is in them, whether or not the
// server has counted them (ANALYZE), planned for all parameters or for these. EXPLAIN ANALYZE runs
// them, in transactions that are undone.

using namespace jobs;

namespace {

constexpr int queues = 100;
constexpr int tokens = 100'000;
constexpr std::string_view now_text = "1800000000000";

/// Parameters of a statement, and what it may read at most: rows of tables and entries of indexes,
/// and pages, of 8 KiB.
struct use {
    const char* parameters;
    std::int64_t rows = 40;
    std::int64_t pages = 250;
};

/// Jobs are numbered from 1 on; of job n the key is 'key-n', the lease, if it has one, 'lease-n',
/// of each third as an earlier version makes them.
#define OLD_LEASE "convert_to(lpad('lease-900', 32, '0'), 'UTF8')"
#define DIGESTS "ARRAY[sha256('key-1'), sha256('key-900'), sha256('none')]"
const std::map<std::string_view, use> uses{
    {"begin", {nullptr}},
    {"commit", {nullptr}},
    {"roll_back", {nullptr}},
    {"add_nothing", {""}},
    {"add_waste", {"-1, ARRAY['1'::bytea]"}},
    {"any_due", {"1800000000000"}},
    {"lock_due", {"1800000500000, 500", 1'600, 6'000}},
    {"next_due", {"1800000000000"}},
    {"queues_named", {"'{queue-0,queue-1,none}'"}},
    {"queues_counted", {"'{queue-0,queue-1,none}'", 150}},
    {"queues_page", {"'', 10001", 1'900, 2'000}},
    {"lock_queue", {"'queue-0'"}},
    {"new_ids", {"10"}},
    {"lock_over", {"'queue-0', " DIGESTS ", 1800000000500"}},
    {"find_digests", {"'queue-0', " DIGESTS ", 1800000000500"}},
    {"lock_leases", {"'queue-0', '{1,900}', ARRAY['lease-1'::bytea, 'none', " OLD_LEASE "], 0"}},
    {"lock_id", {"'queue-0', 900"}},
    {"lock_dead", {"'queue-0', 0, 0, 100", 110, 700}},
    {"find_holders", {"'queue-0', 0, 0, 100, 1800000000500", 210, 1'000}},
    {"lock_dead_named", {"'queue-0', '{1,900,901}'"}},
    {"find_holders_named", {"'queue-0', '{1,900,901}', 1800000000500"}},
    {"find_digest", {"'queue-0', " DIGESTS}},
    {"find_dead_digest", {"'queue-0', " DIGESTS ", 10"}},
    {"lock_keys_of", {"'queue-0', 100", 300, 1'500}},
    {"lock_counts_of", {"'queue-0', 100", 200, 1'000}},
    {"count_slice", {"'queue-0', 100", 130}}, // and 16 shards of counts
    {"lock_slice", {"'queue-0', 100", 110, 1'000}},
    {"lock_first", {"'queue-0', 10", 80}},
    {"lock_to_take", {"'queue-0', '{4,6}', 1000000", 80}},
    {"lock_small", {"'queue-0', '{4,6}', 1000000", 80}},
    {"find_job", {"'queue-0', 900"}},
    {"list_jobs", {"'queue-0', 0, 9, 1000, 11, 1000000", 80}},
    {"oldest_jobs", {"'queue-0'"}},
    {"oldest_of_page", {"'', 10001", 1'000, 4'000}},
    {"lock_purged", {"'queue-0', 0, 9, 1000, 2000000, 1000, 0, 0", 4'020, 14'000}},
    {"tokens_known", {"'queue-0', ARRAY['token-1'::bytea, 'none']"}},
    {"insert_jobs",
     {"'{1,1}', '{5000000,5000001}', '{0,0}', '{9,9}', '{0,0}', '{1,1}', '{0,0}', "
      "ARRAY[sha256('a'), sha256('b')], ARRAY['a'::bytea, 'b'], ARRAY['1'::bytea, '2']"}},
    {"update_jobs",
     {"'{1,900}', '{0,0}', '{1,1}', '{1,1}', '{0,0}', '{1,1}', '{1,1}', '{0,0}', "
      "ARRAY[NULL::bytea, ''], ARRAY[NULL::bytea, 'e']"}},
    {"delete_jobs", {"'{1,900}'"}},
    {"hold_keys", {"'{1,900}'"}},
    {"free_keys", {"'{1,900}'"}},
    {"count_duplicates",
     {"'{1,1}', ARRAY[sha256('key-100'), sha256('key-900')], '{100,900}', '{1,2}'"}},
    {"insert_tokens",
     {"'{1,1}', ARRAY['token-1'::bytea, 'new'], '{1,1}', '{1,1}', '{9,9}', 1800000000000"}},
    {"count_tokens", {"9223372036854775807, 1000", 1'010}},
    {"trim_tokens", {"1800000000500, 100", 310, 1'000}},
    {"save_queue", {"1, 0, 0, 0, 0, 0, -1, -1, -1, -1"}},
    {"add_counts", {"1, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0"}},
    {"lock_schema", {""}},
    {"count_queues", {"", 220}},
    {"lock_unused", {"", 2'100, 6'000}},
    {"lock_counts", {"1"}},
    {"still_unused", {"1"}},
    {"drop_tokens", {"3"}},
    {"drop_counts", {"3, '{0,15}'"}},
    {"drop_queue", {"1000", 80}},
    {"make_queue", {"'a new one'"}},
    {"have_jobs", {"'{queue-0,queue-1,queue-2,none}'", 80}},
    {"next_due_job", {""}},
};

/// What is in the tables.
struct filling {
    const char* name;
    int jobs;
    const char* queue; ///< of job i; numbers from 1 on
    const char* state;
};
const std::vector<filling> fillings{
    {"a hundred queues", 1'000'000, "1 + i % 100",
     "CASE (i / 100) % 10 WHEN 7 THEN 1 WHEN 8 THEN 2 WHEN 9 THEN 3 ELSE 0 END"},
    {"all in one queue", 200'000, "1", "0"},
    {"all in progress", 200'000, "1 + i % 100", "2"},
    {"all dead", 200'000, "1 + i % 100", "3"},
    {"all delayed", 200'000, "1 + i % 100", "1"},
};

class filled {
public:
    explicit filled(const filling& with) : over_(schema_.context(), schema_.url()) {
        { // makes the tables
            postgres_store store(schema_.context(), schema_.url());
            (void)wait(store.describe("none", 1));
        }
        wait(over_.open(std::chrono::seconds(60)));
        over_.set_patience(std::chrono::minutes(5));
        wait(set_up_session(&over_));
        for (const char* const table :
             {"rota_jobs", "rota_keys", "rota_tokens", "rota_counts", "rota_queues"})
            run(std::string("ALTER TABLE ") + table + " SET (autovacuum_enabled = off)");
        const std::string last_queue = std::to_string(queues - 1);
        run("INSERT INTO rota_queues (number, name) SELECT i + 1, 'queue-' || i FROM "
            "generate_series(0, " +
            last_queue + ") i");
        run("INSERT INTO rota_queues (number, name, paused) VALUES (1000, 'unused', 1)");
        run("INSERT INTO rota_counts SELECT i + 1, s, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 FROM "
            "generate_series(0, " +
            last_queue + ") i, generate_series(0, 15) s");
        run("INSERT INTO rota_tokens SELECT 1 + i % 2, convert_to('token-' || i, 'UTF8'), 1, i, " +
            std::string(now_text) + " + i FROM generate_series(1, " + std::to_string(tokens) +
            ") i");
        run(std::string(
                "INSERT INTO rota_jobs (queue, id, state, rank, attempts, duplicates, added_at, "
                "since, due, queued_ms, in_progress_ms, digest, token, key, payload) "
                "SELECT queue, i, state, CASE WHEN i % 777 = 0 THEN 5 ELSE 9 END, 0, 0, i, i, "
                "CASE WHEN state IN (1, 2) THEN ") +
            std::string(now_text) +
            " + i ELSE 0 END, 0, 0, sha256(key), CASE WHEN state = 2 THEN "
            "convert_to(lpad('lease-' || i, CASE i % 3 WHEN 0 THEN 32 ELSE 20 END, '0'), 'UTF8') "
            "END, key, '\"a payload of a usual size\"' FROM "
            "(SELECT i, " +
            with.queue + " AS queue, " + with.state +
            " AS state, convert_to('key-' || i, 'UTF8') AS key FROM generate_series(1, " +
            std::to_string(with.jobs) + ") i) jobs");
        run("INSERT INTO rota_keys SELECT queue, digest, id FROM rota_jobs WHERE state < 3");
        run("SELECT setval('rota_queue_numbers', 2000), setval('rota_job_ids', 9000000)");
        wait(prepare_statements(&over_));
    }

    void run(const std::string& sql) { (void)wait(over_.run(sql.c_str())); }
    /// EXPLAIN's answer, JSON.
    std::string explain(const sql::prepared& statement, std::string_view parameters) {
        std::string sql = "EXPLAIN (ANALYZE, BUFFERS, TIMING off, FORMAT JSON) EXECUTE ";
        sql += statement.name;
        if (!parameters.empty())
            sql += '(' + std::string(parameters) + ')';
        (void)wait(over_.run("BEGIN"));
        const postgres_result answer = wait(over_.run(sql.c_str()));
        (void)wait(over_.run("ROLLBACK"));
        return std::string(answer.text(0, 0));
    }

private:
    template <class T>
    T wait(rota::task<T> call) {
        return schema_.context().block_on(std::move(call));
    }

    scratch_schema schema_;
    postgres_connection over_;
};

std::int64_t number(rota::json::value in, std::string_view name) {
    const auto found = in.member(name);
    if (!found)
        return 0;
    std::string text; // may be written as 1.00
    found->append_text(text);
    return static_cast<std::int64_t>(std::stod(text));
}

struct seen {
    std::int64_t rows = 0;
    std::string scanned; ///< tables that were read from end to end
};

/// Adds up what a part of a plan reads itself, and its parts.
void add_up(rota::json::value part, seen& all) {
    const std::int64_t times = number(part, "Actual Loops");
    const std::string_view kind = part.member("Node Type")->string();
    const bool reads = kind.ends_with("Scan") && (part.member("Relation Name").has_value() ||
                                                  part.member("Index Name").has_value());
    if (reads) {
        for (const char* const what :
             {"Actual Rows", "Rows Removed by Filter", "Rows Removed by Index Recheck"})
            all.rows += times * number(part, what);
    }
    // A page of queues is sorted by what no index is.
    if (kind == "Seq Scan" && part.member("Relation Name")->string() != "rota_queues")
        all.scanned += std::string(part.member("Relation Name")->string()) + ' ';
    if (const auto parts = part.member("Plans"))
        parts->each_element([&](rota::json::value each) { add_up(each, all); });
}

void check_each(filled& tables, const std::string& how) {
    for (const sql::prepared* const each : sql::statements()) {
        INFO(how << ": " << each->name);
        REQUIRE(uses.contains(each->name));
        const use& with = uses.at(each->name);
        if (with.parameters == nullptr)
            continue;
        const std::string told = tables.explain(*each, with.parameters);
        INFO(told);
        const rota::json::document doc = rota::json::document::parse(told);
        doc.root().each_element([&](rota::json::value statement) {
            const rota::json::value plan = *statement.member("Plan");
            seen all;
            add_up(plan, all);
            const std::int64_t pages =
                number(plan, "Shared Hit Blocks") + number(plan, "Shared Read Blocks");
            CHECK(all.rows <= with.rows);
            CHECK(pages <= with.pages);
            CHECK(all.scanned == "");
        });
    }
}

} // namespace

TEST_CASE("no statement reads more than it is asked for, however much there is") {
    if (!postgres_for_tests())
        SKIP("ROTA_TEST_POSTGRES names no database");
    const filling& with = GENERATE(from_range(fillings));
    filled tables(with);
    for (const bool analyzed : {false, true}) {
        if (analyzed)
            tables.run("ANALYZE");
        for (const char* const plans : {"force_generic_plan", "force_custom_plan"}) {
            tables.run(std::string("SET plan_cache_mode = ") + plans);
            check_each(tables, std::string(with.name) + (analyzed ? ", analyzed, " : ", ") + plans);
        }
    }
}
