#include "jobs/api/listing.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "jobs/api/problem.hpp"
#include <rota/json/document.hpp>

using namespace jobs;

namespace {

constexpr time_ms noon = 1'790'000'000'123;

job_info sample() {
    job_info job;
    job.id = 7;
    job.key = "k";
    job.payload = R"({"a":1})";
    job.priority = 2;
    job.added_at = noon;
    return job;
}

} // namespace

TEST_CASE("a queue shows its settings and counts") {
    queue_info info{"q", {.max_attempts = 3, .paused = true}, {.queued = 2, .dead = 1}, noon - 50};
    const rota::json::document doc = rota::json::document::parse(describe_queue("q", info, noon));
    const rota::json::value shown = doc.root();
    CHECK(shown.member("queue")->string() == "q");
    CHECK(shown.member("settings")->member("max_attempts")->integer() == 3);
    CHECK(shown.member("settings")->member("max_jobs")->is(rota::json::kind::null));
    CHECK(shown.member("counts")->member("queued")->integer() == 2);
    CHECK(shown.member("counts")->member("dead")->integer() == 1);
    CHECK(shown.member("oldest_age_ms")->integer() == 50);
}

TEST_CASE("a queue that is not there is empty") {
    const rota::json::document doc =
        rota::json::document::parse(describe_queue("q", std::nullopt, noon));
    CHECK(doc.root().member("counts")->member("queued")->integer() == 0);
    CHECK(doc.root().member("oldest_age_ms")->is(rota::json::kind::null));
}

TEST_CASE("every queue is listed") {
    const rota::json::document doc = rota::json::document::parse(
        describe_queues({{{"a", {}, {}, {}}, {"b", {}, {}, noon - 7}}, false}, noon));
    std::vector<std::optional<std::int64_t>> ages;
    doc.root().member("queues")->each_element(
        [&](rota::json::value queue) { ages.push_back(queue.member("oldest_age_ms")->integer()); });
    CHECK(ages == std::vector<std::optional<std::int64_t>>{std::nullopt, 7});
}

TEST_CASE("a page of queues tells where the next begins") {
    queue_list page{{{"a", {}, {}, {}}, {"b", {}, {}, {}}}, true};
    const std::string text = describe_queues(page, noon);
    CHECK(text.ends_with(R"(],"next_cursor":"b"})"));
    page.more = false;
    CHECK(describe_queues(page, noon).find("next_cursor") == std::string::npos);
    CHECK(read_queues_request("7", "b") == queues_request{"b", 7});
    CHECK(read_queues_request(std::nullopt, std::nullopt).limit == 10'000);
    CHECK_THROWS_AS(read_queues_request("10001", std::nullopt), problem);
    CHECK_THROWS_AS(read_queues_request(std::nullopt, "no queue"), problem);
}

TEST_CASE("a job shows what concerns its state") {
    job_info job = sample();
    CHECK(describe_job(job) ==
          R"({"id":"7","key":"k","payload":{"a":1},"state":"queued","priority":2,"attempts":0,)"
          R"("duplicates":0,"added_at":"2026-09-21T14:13:20.123Z","queued_ms":0,)"
          R"("in_progress_ms":0})");
    job.state = job_state::in_progress;
    job.due_at = noon + 1;
    job.error = "no";
    const std::string text = describe_job(job);
    CHECK(text.find(R"("lease_expires_at":"2026-09-21T14:13:20.124Z")") != std::string::npos);
    CHECK(text.find(R"("error":"no")") != std::string::npos);
    job.state = job_state::delayed;
    CHECK(describe_job(job).find(R"("due_at":")") != std::string::npos);
}

TEST_CASE("a list has a cursor if there is more") {
    job_list list;
    list.jobs.push_back(sample());
    CHECK(describe_jobs(list).find("cursor") == std::string::npos);
    list.more = true;
    CHECK(describe_jobs(list).find(R"("cursor":"7-7")") != std::string::npos);
    CHECK(read_cursor(cursor_text(sample())) == position{7, 7});
    CHECK(read_cursor(std::nullopt) == position{});
    for (const char* text : {"", "7", "-7", "10-1", "1-x", "1-0", "1-01", "1-9999999999999",
                             "300-1", "00-1", "009-1"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(read_cursor(text), problem);
    }
}

TEST_CASE("limits of lists") {
    CHECK(read_limit(std::nullopt) == 100);
    CHECK(read_limit("1") == 1);
    CHECK(read_limit("1000") == 1'000);
    for (const char* text : {"", "0", "1001", "-1", "1x", " 1"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(read_limit(text), problem);
    }
}

TEST_CASE("what has been taken") {
    CHECK(describe_taken({{7, "k", "[1]", 2, "lease", noon}}) ==
          R"({"jobs":[{"id":"7","key":"k","payload":[1],"attempt":2,"lease_id":"lease",)"
          R"("lease_expires_at":"2026-09-21T14:13:20.123Z"}]})");
}

TEST_CASE("an event as it is sent") {
    CHECK(describe_event({3, change_kind::taken, 7, 1, noon}, 99) ==
          "id: 99-3\nevent: taken\ndata: {\"type\":\"taken\",\"id\":\"7\",\"attempt\":1,"
          "\"at\":\"2026-09-21T14:13:20.123Z\"}\n\n");
    CHECK(describe_event({4, change_kind::paused, 0, 0, noon}, 99).find("attempt") ==
          std::string::npos);
    CHECK(read_event_id("99-3", 99) == 3);
    for (const char* text : {"", "99", "99-", "98-3", "99-x", "99-3 "})
        CHECK_FALSE(read_event_id(text, 99));
}
