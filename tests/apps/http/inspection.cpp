#include "inspection.hpp"

#include <chrono>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "json/document.hpp"

using namespace rota_http;
using namespace std::chrono_literals;

TEST_CASE("blocked routines and workers as JSON") {
    const auto now = std::chrono::steady_clock::now();
    const std::vector<rota::blocked_routine> blocked{
        {.id = 7,
         .name = "a \"b\"",
         .what = "channel::pop",
         .function = "f()",
         .file = "x.cpp",
         .line = 12,
         .since = now - 1500ms,
         .worker = 1},
        {.id = 8, .name = "late", .what = "sleep", .since = now + 5ms},
    };
    const std::vector<rota::worker_status> workers{{.index = 0, .routines = 2, .connections = 1}};

    const json::document doc = json::document::parse(tasks_json(blocked, workers, 9, 100, now));
    CHECK(doc.root().member("routines")->integer() == 9);
    std::vector<json::value> listed;
    doc.root().member("blocked")->each_element([&](json::value v) { listed.push_back(v); });
    REQUIRE(listed.size() == 2);
    CHECK(listed[0].member("name")->string() == "a \"b\"");
    CHECK(listed[0].member("where")->string() == "x.cpp:12");
    CHECK(listed[0].member("since_ms")->integer() == 1500);
    CHECK(listed[0].member("worker")->integer() == 1);
    CHECK(listed[1].member("since_ms")->integer() == 0);
    CHECK(doc.root().member("workers")->size() == 1);
}

TEST_CASE("the list of tasks is bounded") {
    const std::vector<rota::blocked_routine> blocked(5);
    const json::document doc = json::document::parse(tasks_json(blocked, {}, 5, 3, {}));
    CHECK(doc.root().member("blocked")->size() == 3);
    std::string truncated;
    doc.root().member("truncated")->append_text(truncated);
    CHECK(truncated == "true");
}
