#include "jobs/sqlite/table.hpp"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <sqlite3.h>

#include "stores.hpp"

using namespace jobs;

namespace {

/// A table, and nothing behind it: as it is made, and as it is used.
struct opened {
    scratch_folder folder;
    sqlite_database file{folder.file("jobs.db")};
    sqlite_table rows{file};
};

/// All statements that the table has prepared.
std::set<std::string> statements_of(sqlite3* on) {
    std::set<std::string> texts;
    for (sqlite3_stmt* each = sqlite3_next_stmt(on, nullptr); each != nullptr;
         each = sqlite3_next_stmt(on, each))
        texts.emplace(sqlite3_sql(each));
    return texts;
}

} // namespace

TEST_CASE("no statement reads a table from end to end, but what is read once") {
    opened o;
    // The library plans by what indexes there are, not by what they hold: nobody ever runs ANALYZE.
    const std::set<std::string> all = statements_of(o.file.handle());
    CHECK(all.size() > 15);
    for (const std::string& text : all) {
        INFO(text);
        const bool at_the_start =
            text.starts_with("SELECT number, name") || text == "SELECT count(*) FROM tokens";
        sqlite_statement plan(o.file, "EXPLAIN QUERY PLAN " + text);
        while (plan.step()) {
            const std::string part(plan.text(3));
            INFO(part);
            // The oldest tokens, of which there are too many: as many as go.
            const bool oldest = part.starts_with("SCAN tokens USING") &&
                                part.find("tokens_end") != std::string::npos;
            CHECK((at_the_start || oldest || !part.starts_with("SCAN")));
            CHECK(!part.starts_with("USE TEMP B-TREE"));
        }
    }
}

namespace {

/// How much the library does for something, in instructions of its machine.
template <class What>
int steps_of(sqlite3* on, const What& what) {
    int steps = 0;
    sqlite3_progress_handler(
        on, 1, [](void* count) { return ++*static_cast<int*>(count), 0; }, &steps);
    what();
    sqlite3_progress_handler(on, 0, nullptr, nullptr);
    return steps;
}

} // namespace

TEST_CASE("what is looked for among many is found at once") {
    opened o;
    constexpr std::uint64_t many = 20'000;
    o.file.execute("BEGIN");
    for (std::uint64_t id = 1; id <= many; ++id) {
        job_row job;
        job.queue = 1;
        job.id = id;
        job.state = static_cast<job_state>(id % 4);
        job.due = id % 4 == 1 ? time_ms(id) : 0;
        o.rows.insert(job, std::to_string(id), "1");
    }
    o.file.execute("COMMIT");
    constexpr int few = 1'000;
    const auto steps = [&](auto what) { return steps_of(o.file.handle(), what); };
    std::size_t found = 0;
    for (const job_state state :
         {job_state::queued, job_state::delayed, job_state::in_progress, job_state::dead}) {
        const int listing = steps([&] {
            found += o.rows.list(1, state, {9, many / 2}, 10).size();
        });
        CHECK(listing < few);
        const int first = steps([&] { found += o.rows.list(1, state, {}, 10).size(); });
        CHECK(first < few);
        const int none = steps([&] { found += o.rows.list(1, state, {9, many}, 10).size(); });
        CHECK(none < few);
    }
    CHECK(found == 80);
    CHECK(steps([&] { found += o.rows.due(many, 10).size(); }) < few);
    CHECK(steps([&] { CHECK(o.rows.next_due() == 1); }) < few);
    CHECK(steps([&] { CHECK(o.rows.find_key(1, "12000")->id == 12'000); }) < few);
}
