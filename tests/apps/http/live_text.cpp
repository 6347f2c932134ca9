#include "live_text.hpp"

#include <chrono>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/json/document.hpp>

using namespace rota_http;
using namespace std::chrono_literals;

namespace {

rota::blocked_routine waiting(std::string name, std::uint32_t line,
                              std::chrono::steady_clock::time_point since) {
    return {.name = std::move(name),
            .what = "sleep",
            .function = "rota::task<void> rest(int)",
            .file = "x.cpp",
            .line = line,
            .since = since};
}

std::vector<rota::json::value> elements(const rota::json::document& doc, const char* name) {
    std::vector<rota::json::value> all;
    doc.root().member(name)->each_element([&](rota::json::value v) { all.push_back(v); });
    return all;
}

} // namespace

TEST_CASE("percentiles of what has been counted since") {
    latency_counts before{};
    latency_counts after{};
    CHECK_FALSE(percentile_us(before, after, 50));
    before[0] = 1'000; // of before: of no account
    after = before;
    CHECK_FALSE(percentile_us(before, after, 99));
    after[1] += 100; // 50 to 100 us
    CHECK(percentile_us(before, after, 50) == 75);
    CHECK(percentile_us(before, after, 100) == 100);
    after[3] += 1; // 250 to 500 us
    CHECK(percentile_us(before, after, 50) == 75);
    CHECK(percentile_us(before, after, 100) == 500);
    after.back() += 1'000;
    CHECK(percentile_us(before, after, 99) == 10'000'000);
}

TEST_CASE("a counter that is summed up later than another does not run backwards") {
    latency_counts before{};
    before[2] = 5;
    CHECK_FALSE(percentile_us(before, {}, 99));
}

TEST_CASE("who waits for the same is one group") {
    const auto now = std::chrono::steady_clock::now();
    const std::vector<wait_group> groups =
        group_waits({{{waiting("late", 7, now - 9s)}},
                     {{waiting("client", 3, now - 1s)}}, // a timer each
                     {{waiting("client", 3, now - 2s)}},
                     {{waiting("client", 4, now + 1s)}}},
                    now);
    REQUIRE(groups.size() == 3);
    CHECK(groups[0].name == "client");
    CHECK(groups[0].where == "x.cpp:3");
    CHECK(groups[0].function == "rest");
    CHECK(groups[0].count == 2);
    CHECK(groups[0].longest_ms == 2'000);
    CHECK(groups[1].longest_ms == 0);
    CHECK(groups[2].name == "late");
}

TEST_CASE("a look as JSON") {
    const auto now = std::chrono::steady_clock::now();
    live_look before{.at = now - 2s};
    before.seen.http.requests = 100;
    live_look look{.at = now, .started_ms = 12, .now_ms = 50'000};
    look.seen.http.requests = 300;
    look.seen.http.connections_open = 4;
    look.seen.http.latency_counts[1] = 10;
    look.seen.queues.push_back(
        {.name = "mail", .counts = {.queued = 2, .in_progress = 1}, .oldest = 20'000});
    look.tasks.routines = 9;
    look.tasks.workers = {{.index = 3, .connections = 2, .runnable = 5}};
    look.tasks.waits = {{{waiting("<b>\n", 1, now - 1s)}}};

    const std::string text = live_text(look, &before);
    CHECK(text.find('\n') == std::string::npos); // one line: an event's data
    const rota::json::document doc = rota::json::document::parse(text);
    const auto rates = doc.root().member("rates");
    CHECK(rates->member("requests_per_s")->integer() == 100);
    CHECK(rates->member("p50_us")->integer() == 75);
    CHECK(doc.root().member("started_at_ms")->integer() == 12);
    CHECK(doc.root().member("connections")->integer() == 4);
    CHECK(doc.root().member("blocked")->integer() == 1);
    CHECK(elements(doc, "workers").at(0).member("runnable")->integer() == 5);
    CHECK(elements(doc, "waits").at(0).member("name")->string() == "<b>\n");
    CHECK(elements(doc, "queues").at(0).member("in_progress")->integer() == 1);
    CHECK(elements(doc, "queues").at(0).member("oldest_age_ms")->integer() == 30'000);
    CHECK(doc.root().member("now_ms")->integer() == 50'000);

    std::string rates_text;
    const std::string first_text = live_text(look, nullptr);
    const rota::json::document first = rota::json::document::parse(first_text);
    first.root().member("rates")->append_text(rates_text);
    CHECK(rates_text == "null");
}

TEST_CASE("of very many queues those in trouble are told of") {
    live_look look{.now_ms = 10'000};
    for (int i = 0; i < 500; ++i) {
        jobs::queue_info queue{.name = std::to_string(i)};
        if (i == 450)
            queue.counts.dead = 1;
        if (i >= 300 && i < 350)
            queue.oldest = 1'000 + i;
        look.seen.queues.push_back(std::move(queue));
    }
    const std::string text = live_text(look, nullptr);
    const rota::json::document doc = rota::json::document::parse(text);
    const auto told = elements(doc, "queues");
    REQUIRE(told.size() == live_queues_max);
    CHECK(told[0].member("queue")->string() == "450");
    CHECK(told[1].member("queue")->string() == "300"); // the oldest job
    CHECK(told[50].member("queue")->string() == "349");
    CHECK(told[51].member("queue")->string() == "0");
}

TEST_CASE("a look is bounded") {
    const auto now = std::chrono::steady_clock::now();
    live_look look{.at = now};
    for (std::uint32_t i = 0; i < 500; ++i) {
        look.seen.queues.push_back({.name = std::to_string(i)});
        look.tasks.waits.push_back({{waiting("w", i, now)}});
    }
    const std::string text = live_text(look, nullptr);
    const rota::json::document doc = rota::json::document::parse(text);
    CHECK(elements(doc, "queues").size() == live_queues_max);
    CHECK(elements(doc, "waits").size() == live_groups_max);
    CHECK(doc.root().member("queues_total")->integer() == 500);
    CHECK(doc.root().member("waits_total")->integer() == 500);
}
