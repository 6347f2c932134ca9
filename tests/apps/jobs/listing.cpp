#include "jobs/listing.hpp"

#include <optional>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "jobs/problem.hpp"
#include "json/document.hpp"

using namespace jobs;

namespace {

std::vector<std::string> keys_of(json::value from, std::string_view list) {
    std::vector<std::string> keys;
    from.member(list)->each_element(
        [&](json::value job) { keys.emplace_back(job.member("key")->string()); });
    return keys;
}

bool truncated(json::value from) {
    std::string text;
    from.member("truncated")->append_text(text);
    return text == "true";
}

} // namespace

TEST_CASE("a queue shows its counts and its jobs") {
    job_queue queue;
    for (const char* key : {"a", "b", "c"})
        queue.add(key, "{\"x\":1}");
    queue.add("b", "1");
    const job_queue::lease jobs = queue.try_take_up_to(1);
    const json::document doc = json::document::parse(describe_queue("q", &queue, 10));
    const json::value shown = doc.root();
    CHECK(shown.member("queue")->string() == "q");
    CHECK(shown.member("counts")->member("queued")->integer() == 2);
    CHECK(shown.member("counts")->member("in_progress")->integer() == 1);
    CHECK(shown.member("counts")->member("duplicates")->integer() == 1);
    CHECK(keys_of(shown, "queued") == std::vector<std::string>{"b", "c"});
    CHECK(keys_of(shown, "in_progress") == std::vector<std::string>{"a"});
    CHECK_FALSE(truncated(shown));
}

TEST_CASE("a queue that is not there is empty") {
    const json::document doc = json::document::parse(describe_queue("q", nullptr, 10));
    CHECK(doc.root().member("counts")->member("queued")->integer() == 0);
    CHECK(doc.root().member("queued")->size() == 0);
    CHECK_FALSE(truncated(doc.root()));
}

TEST_CASE("lists are bounded") {
    job_queue queue;
    for (int i = 0; i < 5; ++i)
        queue.add(std::to_string(i), "1");
    const json::document doc = json::document::parse(describe_queue("q", &queue, 2));
    CHECK(keys_of(doc.root(), "queued") == std::vector<std::string>{"0", "1"});
    CHECK(truncated(doc.root()));
    CHECK(doc.root().member("counts")->member("queued")->integer() == 5);
}

TEST_CASE("what is looked at is bounded, too") {
    job_queue queue;
    for (int i = 0; i < 30'000; ++i)
        queue.add(std::to_string(i), "1");
    const job_queue::lease jobs = queue.try_take_up_to(29'999);
    const json::document doc = json::document::parse(describe_queue("q", &queue, 10));
    CHECK(doc.root().member("in_progress")->size() == 10);
    CHECK(doc.root().member("queued")->size() == 0);
    CHECK(truncated(doc.root()));
}

TEST_CASE("limits") {
    CHECK(read_limit(std::nullopt) == 100);
    CHECK(read_limit("1000") == 1000);
    for (const char* text : {"", "0", "1001", "-1", "1x", " 1"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(read_limit(text), problem);
    }
}

TEST_CASE("all queues") {
    CHECK(describe_queues({}) == R"({"queues":[]})");
    const json::document doc =
        json::document::parse(describe_queues({{"a", {.queued = 1}}, {"b", {.in_progress = 2}}}));
    CHECK(doc.root().member("queues")->size() == 2);
}
