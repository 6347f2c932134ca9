#include "inspection.hpp"

#include <chrono>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/json/document.hpp>

using namespace rota_http;
using namespace std::chrono_literals;

TEST_CASE("blocked routines and workers as JSON") {
    const auto now = std::chrono::steady_clock::now();
    const int gate = 0;
    std::vector<rota::blocked_routine> poppers{
        {.id = 7,
         .name = "a \"b\"",
         .what = "channel::pop",
         .function = "f()",
         .file = "x.cpp",
         .line = 12,
         .since = now - 1500ms,
         .worker = 1,
         .on = &gate},
    };
    poppers.push_back(poppers[0]);
    poppers[1].id = 5;
    poppers[1].since = now;
    const std::vector<rota::blocked_group> waits{
        {poppers}, {{{.id = 8, .name = "late", .what = "sleep", .since = now + 5ms}}}};
    const rota::blocked_routine running{.id = 9, .name = "busy", .worker = 2};
    const std::vector<rota::worker_status> workers{{.index = 0, .routines = 2, .connections = 1}};

    const rota::json::document doc = rota::json::document::parse(
        tasks_json({9, waits, {running, poppers[0]}, workers}, 100, now));
    CHECK(doc.root().member("routines")->integer() == 9);
    std::vector<rota::json::value> listed;
    doc.root().member("blocked")->each_element([&](rota::json::value v) { listed.push_back(v); });
    REQUIRE(listed.size() == 3);
    CHECK(listed[0].member("name")->string() == "a \"b\"");
    CHECK(listed[0].member("where")->string() == "x.cpp:12");
    CHECK(listed[0].member("since_ms")->integer() == 1500);
    CHECK(listed[0].member("worker")->integer() == 1);
    CHECK(listed[2].member("since_ms")->integer() == 0);
    std::vector<rota::json::value> groups;
    doc.root().member("waits")->each_element([&](rota::json::value v) { groups.push_back(v); });
    REQUIRE(groups.size() == 2);
    CHECK(groups[0].member("what")->string() == "channel::pop");
    CHECK(groups[0].member("where")->string() == "x.cpp:12");
    CHECK(groups[0].member("function")->string() == "f");
    CHECK(groups[0].member("count")->integer() == 2);
    CHECK(groups[0].member("longest_ms")->integer() == 1500);
    CHECK(groups[0].member("on")->string().starts_with("0x"));
    CHECK(groups[0].member("ids")->size() == 2);
    CHECK(groups[1].member("count")->integer() == 1);
    CHECK(doc.root().member("workers")->size() == 1);
    CHECK(doc.root().member("running")->size() == 2);
    std::vector<rota::json::value> runs;
    doc.root().member("running")->each_element([&](rota::json::value v) { runs.push_back(v); });
    CHECK(runs[0].member("where")->is(rota::json::kind::null)); // it has not waited yet
    CHECK(runs[0].member("since_ms")->is(rota::json::kind::null));
    CHECK(runs[1].member("where")->string() == "x.cpp:12");
    CHECK(runs[1].member("since_ms")->integer() == 1500);
}

TEST_CASE("blocked routines and workers in lines") {
    const auto now = std::chrono::steady_clock::now();
    task_list tasks{.routines = 4, .waits = {{std::vector<rota::blocked_routine>(2)}, {{{}}}}};
    tasks.waits[0].waiters[0] = {.id = 7,
                                 .name = "client",
                                 .what = "stream::fill",
                                 .file = "x.cpp",
                                 .line = 12,
                                 .since = now - 1500ms,
                                 .worker = 1};
    tasks.running = {{.id = 9, .name = "busy", .what = "sleep", .file = "y.cpp", .line = 3},
                     {.id = 10, .name = "new", .worker = 1}};
    tasks.workers = {{.index = 1, .state = rota::baton::lent, .draining = true, .routines = 2}};
    const std::vector<std::string> lines = tasks_lines(tasks, 1, now);
    REQUIRE(lines.size() == 7);
    CHECK(lines[0] == "tasks: 4 routines, 2 running, 3 blocked");
    CHECK(lines[1] == "  worker 1: lent, draining, 2 routines, 0 connections, 0 runnable");
    CHECK(lines[2] == "  busy#9 on worker 0: running, last at sleep in y.cpp:3");
    CHECK(lines[3] == "  new#10 on worker 1: running");
    CHECK(lines[4] == "  stream::fill in x.cpp:12: 2 waiting");
    CHECK(lines[5] == "    client#7 on worker 1 for 1500 ms");
    CHECK(lines[6] == "  and 2 more");
}

TEST_CASE("the list of tasks is bounded") {
    const std::vector<rota::blocked_group> waits{
        {std::vector<rota::blocked_routine>(2)}, {std::vector<rota::blocked_routine>(2)}, {{{}}}};
    const rota::json::document doc =
        rota::json::document::parse(tasks_json({5, waits, {}, {}}, 3, {}));
    CHECK(doc.root().member("blocked")->size() == 3);
    CHECK(doc.root().member("waits")->size() == 2);
    std::string truncated;
    doc.root().member("truncated")->append_text(truncated);
    CHECK(truncated == "true");
}
