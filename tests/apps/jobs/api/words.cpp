#include "jobs/api/words.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace jobs;

TEST_CASE("ids are numbers for those who know") {
    CHECK(id_text(12) == "12");
    CHECK(read_id("12") == 12);
    CHECK(read_id("1099511627775") == (std::uint64_t{1} << 40) - 1);
    for (const char* text : {"", "0", "012", "-1", "1x", "10000000000000", "99999999999999999999"})
        CHECK_FALSE(read_id(text));
}

TEST_CASE("states and changes have words") {
    for (const job_state state :
         {job_state::queued, job_state::delayed, job_state::in_progress, job_state::dead})
        CHECK(read_state(to_string(state)) == state);
    CHECK_FALSE(read_state("other"));
    CHECK(to_string(change_kind::added) == "added");
    CHECK(to_string(change_kind::configured) == "configured");
    for (const job_cause cause : {job_cause::failed, job_cause::lease_ended, job_cause::abandoned})
        CHECK(read_cause(to_string(cause)) == cause);
    CHECK_FALSE(read_cause(""));
    CHECK_FALSE(read_cause("none"));
}

TEST_CASE("refusals have a status, a code and a sentence") {
    CHECK(words_of(add_outcome::duplicate).status == 409);
    CHECK(words_of(add_outcome::full).code == "queue_full");
    CHECK(words_of(add_outcome::too_large).status == 413);
    CHECK(words_of(add_outcome::too_many_queues).status == 429);
    CHECK(words_of(add_outcome::mismatched).status == 422);
    CHECK(words_of(add_outcome::out_of_ids).status == 503);
}

TEST_CASE("what may have been done is told from what has not") {
    CHECK(code_of(store_fault::unknown) == "outcome_unknown");
    for (const store_fault fault :
         {store_fault::failed, store_fault::full, store_fault::unreachable, store_fault::late})
        CHECK(code_of(fault) == "store_unavailable");
}

TEST_CASE("times are RFC 3339") {
    CHECK(time_text(0) == "1970-01-01T00:00:00.000Z");
    CHECK(time_text(951'782'400'007) == "2000-02-29T00:00:00.007Z");
    CHECK(time_text(1'798'761'599'999) == "2026-12-31T23:59:59.999Z");
}

TEST_CASE("times of RFC 3339 are read") {
    for (const time_ms when : {time_ms{0}, time_ms{951'782'400'007}, time_ms{1'798'761'599'999}})
        CHECK(read_time(time_text(when)) == when);
    CHECK(read_time("1970-01-01t00:00:01z") == 1'000);
    CHECK(read_time("1970-01-01 01:30:00.25+01:30") == 250);
    CHECK(read_time("1969-12-31T16:00:00.001000-08:00") == 1);
    CHECK(read_time("1969-12-31T16:00:00.0010001-08:00") == 2);
    CHECK(read_time("1969-12-31T23:59:59.9999Z") == 0);
    CHECK(read_time("2016-12-31T23:59:60Z") == read_time("2017-01-01T00:00:00Z"));
    CHECK(read_time("2017-01-01T01:29:60+01:30") == read_time("2017-01-01T00:00:00Z"));
    for (const char* text :
         {"", "now", "1970-01-01", "1970-01-01T00:00:00", "1970-01-01T00:00:00.Z",
          "1970-02-29T00:00:00Z", "1970-13-01T00:00:00Z", "1970-01-01T24:00:00Z",
          "1970-01-01T00:60:00Z", "1970-01-01T00:00:00+24:00", "1970-01-01T00:00:00+0100",
          "1970-01-01T00:00:00Zz", "+970-01-01T00:00:00Z", "1970-1-01T00:00:00Z",
          "2016-12-31T23:58:60Z", "2017-01-01T23:59:60+01:30", "2016-12-31T23:59:61Z"}) {
        CAPTURE(text);
        CHECK_FALSE(read_time(text));
    }
}
