#include "jobs/postgres/connection.hpp"

#include <chrono>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "postgres_schemas.hpp"

using namespace jobs;
using Catch::Matchers::ContainsSubstring;
using std::chrono::seconds;

namespace {

/// An open connection to the database for tests.
struct opened {
    opened() : over(context, postgres_for_tests().value()) { wait(over.open(seconds(60))); }
    template <class T>
    T wait(rota::task<T> call) {
        return context.block_on(std::move(call));
    }
    rota::io::context context{{.workers = 1}};
    postgres_connection over;
};

} // namespace

TEST_CASE("a URL of a database is told from another") {
    CHECK(is_postgres_url("postgres://me@host:5432/jobs"));
    CHECK(is_postgres_url("postgresql:///jobs?host=/run/postgresql"));
    CHECK_FALSE(is_postgres_url("postgres://host/jobs?nonsense=1"));
    CHECK_FALSE(is_postgres_url("host=localhost"));
}

TEST_CASE("why there is no connection is told, and the password is not") {
    rota::io::context context({.workers = 1});
    postgres_connection over(context, "postgres://me:secret@%2Fno%2Fsuch%2Ffolder/jobs");
    try {
        context.block_on(over.open(seconds(60)));
        FAIL("there is one");
    } catch (const connection_lost& e) {
        CHECK_THAT(e.what(), ContainsSubstring("/no/such/folder"));
        CHECK_THAT(e.what(), !ContainsSubstring("secret"));
    }
    CHECK_FALSE(over.is_open());
    CHECK_THROWS_AS(over.send_text("SELECT 1"), connection_lost);
}

TEST_CASE("many statements are answered in order") {
    if (!postgres_for_tests())
        SKIP("ROTA_TEST_POSTGRES names no database");
    opened c;
    c.over.prepare("twice", "SELECT 2 * $1::bigint");
    for (std::int64_t i = 0; i < 100; ++i)
        c.over.send("twice", postgres_values().add(i));
    std::vector<postgres_result> results = c.wait(c.over.flush());
    REQUIRE(results.size() == 101);
    for (int i = 0; i < 100; ++i)
        CHECK(results[static_cast<std::size_t>(i) + 1].integer(0, 0) == 2 * i);
    // More than fits into buffers, both ways, at once.
    const std::string big(3'000'000, 'x');
    for (int i = 0; i < 4; ++i)
        c.over.send_text("SELECT $1::bytea", postgres_values().add(std::string_view(big)));
    results = c.wait(c.over.sync());
    REQUIRE(results.size() == 4);
    CHECK(results[3].text(0, 0) == big);
}

TEST_CASE("integers of every type are read") {
    if (!postgres_for_tests())
        SKIP("ROTA_TEST_POSTGRES names no database");
    opened c;
    const postgres_result row = c.wait(
        c.over.run("SELECT (-2)::smallint, 70000::integer, (-5000000000)::bigint, NULL::bigint"));
    CHECK(row.integer(0, 0) == -2);
    CHECK(row.integer(0, 1) == 70'000);
    CHECK(row.integer(0, 2) == -5'000'000'000);
    CHECK(row.is_null(0, 3));
    CHECK(row.integer(0, 3) == 0);
}

TEST_CASE("what is refused takes the rest with it, and can be undone") {
    if (!postgres_for_tests())
        SKIP("ROTA_TEST_POSTGRES names no database");
    opened c;
    c.over.send_text("BEGIN");
    c.over.send_text("SELECT 1 / 0");
    c.over.send_text("SELECT 1");
    const std::vector<postgres_result> results = c.wait(c.over.flush());
    REQUIRE(results.size() == 3);
    CHECK(results[0].ok());
    CHECK(results[1].error_code() == "22012");
    CHECK(results[2].skipped());
    CHECK_THROWS_WITH(require_ok(results), ContainsSubstring("division by zero"));
    c.wait(c.over.roll_back());
    CHECK(c.wait(c.over.run("SELECT 7")).integer(0, 0) == 7);
}

TEST_CASE("a server that goes, or does not answer, is noticed") {
    if (!postgres_for_tests())
        SKIP("ROTA_TEST_POSTGRES names no database");
    opened c;
    SECTION("goes") {
        CHECK_THROWS_AS(c.wait(c.over.run("SELECT pg_terminate_backend(pg_backend_pid())")),
                        store_error);
        CHECK_THROWS_AS(c.wait(c.over.run("SELECT 1")), connection_lost);
    }
    SECTION("does not answer") {
        c.over.set_patience(std::chrono::milliseconds(50));
        CHECK_THROWS_WITH(c.wait(c.over.run("SELECT pg_sleep(600)")),
                          ContainsSubstring("does not answer"));
    }
    CHECK_FALSE(c.over.is_open());
    c.wait(c.over.open(seconds(60)));
    c.over.set_patience(seconds(60));
    CHECK(c.wait(c.over.run("SELECT 7")).integer(0, 0) == 7);
}
