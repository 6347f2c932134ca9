// How long what sessions use lives: when a server ends, is destroyed, starts again.

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include <rota/blocking.hpp>

#include "server_driver.hpp"

namespace rota::http {
namespace {

using namespace std::chrono_literals;

/// What a handler that blocks waits for.
struct held {
    std::promise<void> entered;
    std::promise<void> released;
};

void hold(held* what) {
    what->entered.set_value();
    what->released.get_future().wait();
}

task<response> hold_and_greet(request* req, held* what) {
    auto work = [what] { hold(what); };
    co_await blocking(std::ref(work));
    co_return response::text("held " + std::string(req->param("name")));
}

task<response> proceed_and_note(request* req, next proceed, std::atomic<int>* noted) {
    task<response> answering = proceed(*req);
    response answer = co_await std::move(answering);
    answer.header("X-Held", req->param("name"));
    ++*noted;
    co_return std::move(answer);
}

task<void> hold_and_write(body_writer* out, const request* req, held* what) {
    auto work = [what] { hold(what); };
    co_await blocking(std::ref(work));
    co_await out->write(req->param("name"));
}

response stream_when_released(const request& req, held& what) {
    return response::stream(
        [r = &req, w = &what](body_writer& out) { return hold_and_write(&out, r, w); });
}

/// Says that it is there, and then cannot be stopped for a while.
task<response> stay(request* req, int entered, std::chrono::milliseconds how_long) {
    // Said there: before it begins it can be cancelled.
    auto work = [entered, how_long] {
        (void)!::write(entered, "x", 1);
        std::this_thread::sleep_for(how_long);
    };
    co_await blocking(std::ref(work));
    co_return response::text("stayed " + std::string(req->param("name")));
}

/// Releases the handler when `over` is set, or after a time that no drain takes by itself; says
/// whether `over` was set by then.
std::future<bool> release_later(held& what, const std::atomic<bool>& over) {
    return std::async(std::launch::async, [&what, &over] {
        const auto limit = std::chrono::steady_clock::now() + 1500ms;
        while (!over && std::chrono::steady_clock::now() < limit)
            std::this_thread::sleep_for(1ms);
        const bool was_over = over;
        what.released.set_value();
        return was_over;
    });
}

} // namespace

TEST_CASE("run() ends after the last handler and what it uses, cancelled or not") {
    const std::string_view path = GENERATE("/handler/a-name", "/stream/a-name", "/throw/a-name");
    // It takes seconds each time: all of them together only where they differ most.
    const bool everywhere = path == "/handler/a-name";
    const layout how =
        everywhere ? each_layout() : layout{io::backend_kind::automatic, io::topology::split};
    CAPTURE(path, how);
    held what;
    std::atomic<int> noted{0};
    std::atomic<int> told{0};
    std::atomic<bool> over{false};
    router routes;
    routes
        .use([&noted](request& req, next proceed) {
            return proceed_and_note(&req, std::move(proceed), &noted);
        })
        .get("/handler/{name}", [&what](request& req) { return hold_and_greet(&req, &what); })
        .get("/stream/{name}",
             [&what](const request& req) { return stream_when_released(req, what); })
        .get("/throw/{name}", [&what](const request& req) -> response {
            hold(&what);
            throw std::runtime_error(std::string(req.param("name")));
        });
    server_options options;
    options.drain_timeout = 10ms;
    options.hooks.on_access = [&told](const access_entry&) { ++told; };
    options.hooks.on_error = [&told](std::string_view) { ++told; };
    io::context ctx(two_workers(how));
    std::optional<running> s(std::in_place, ctx, std::move(routes), std::move(options));
    const client c(s->address());
    c.send(get(path));
    what.entered.get_future().wait();
    std::future<bool> early = release_later(what, over);
    s->drain_and_join();
    CHECK((**s).metrics().connections_open == 0);
    CHECK((**s).metrics().requests_in_flight == 0);
    s.reset();
    over = true;
    CHECK_FALSE(early.get());
    CHECK(told >= 1);
}

TEST_CASE("a server may be destroyed while it serves: its clients have what they need") {
    const layout how = each_layout();
    CAPTURE(how);
    held what;
    const auto token = std::make_shared<std::string>("plain");
    const std::weak_ptr<std::string> alive = token;
    std::atomic<int> told{0};
    router routes;
    routes.get("/plain", [token] { return response::text(*token); })
        .get("/held/{name}", [&what](request& req) { return hold_and_greet(&req, &what); });
    server_options options;
    options.listen.push_back(io::endpoint::ip("127.0.0.1", 0));
    options.limits.rest_after = 1ms;
    options.hooks.on_access = [&told](const access_entry&) { ++told; };
    io::context ctx(two_workers(how));
    std::optional<server> s(std::in_place, ctx, std::move(routes), std::move(options));
    const routine_ptr runner = ctx.workers().spawn(s->run(), {.name = "server"});
    const io::endpoint where = s->listening().front();
    const client resting(where);
    resting.send(get("/plain"));
    CHECK(resting.read_to("plain").ends_with("plain"));
    const client busy(where);
    busy.send(get("/held/a-name"));
    what.entered.get_future().wait();
    s.reset();
    resting.send(get("/plain"));
    CHECK(resting.read_to("plain").ends_with("plain"));
    what.released.set_value();
    CHECK(busy.read_to("a-name").ends_with("held a-name"));
    ctx.stop();
    CHECK(told == 3);
    CHECK(alive.use_count() == 1);
}

TEST_CASE("a run that has not begun needs no server object") {
    io::context ctx(two_workers());
    server_options options;
    options.listen.push_back(io::endpoint::ip("127.0.0.1", 0));
    std::optional<server> s(std::in_place, ctx, router(), std::move(options));
    s->drain();
    task<void> run = s->run();
    s.reset();
    ctx.block_on(std::move(run));
}

TEST_CASE("hooks that throw take nothing from anybody") {
    router routes;
    routes.get("/plain", [] { return response::fixed("plain"); })
        .get("/stream",
             [] { return response::stream([](body_writer& out) { return out.write("piece"); }); })
        .get("/throw", []() -> response { throw std::runtime_error("thrown"); });
    server_options options;
    options.hooks.on_access = [](const access_entry& entry) {
        if (entry.target != "/plain")
            throw std::runtime_error("by the hook");
    };
    options.hooks.on_error = [](std::string_view) { throw 1; };
    io::context_options quiet = two_workers();
    std::atomic<int> told{0};
    quiet.on_error = [&told](const routine&, const std::exception_ptr&) { ++told; };
    io::context ctx(quiet);
    running s(ctx, std::move(routes), std::move(options));
    for (const std::string_view path : {"/none", "/stream", "/throw"}) {
        const client bad(s.address());
        bad.send(get("/plain") + get(path) + get("/plain", "Connection: close\r\n"));
        CHECK(bad.read_all().ends_with("plain<end>"));
        const client good(s.address());
        good.send(get("/plain"));
        CHECK(good.read_to("plain").ends_with("plain"));
    }
    s.drain_and_join();
    CHECK(told == 0);
    CHECK((*s).metrics().connections_open == 0);
    CHECK((*s).metrics().requests_in_flight == 0);
}

TEST_CASE("servers and contexts start and stop again and again under load") {
    const layout how = each_layout();
    CAPTURE(how);
    for (int round = 0; round < 10; ++round) {
        std::atomic<int> errors{0};
        router routes;
        routes.get("/plain", [] { return response::fixed("plain"); })
            .get("/throw", []() -> response { throw std::runtime_error("thrown"); })
            .get("/yield", [](request&) -> task<response> {
                auto nothing = [] {};
                co_await blocking(std::ref(nothing));
                co_return response::text("yielded");
            });
        server_options options;
        options.drain_timeout = round % 2 == 0 ? 1ms : 10'000ms;
        options.limits.rest_after = 1ms;
        options.hooks.on_error = [&errors](std::string_view) { ++errors; };
        io::context ctx(two_workers(how));
        std::optional<running> s(std::in_place, ctx, std::move(routes), std::move(options));
        std::atomic<bool> over{false};
        std::atomic<int> answers{0};
        std::vector<std::jthread> clients;
        for (int i = 0; i < 4; ++i) {
            clients.emplace_back([&over, &answers, where = s->address(), i] {
                while (!over) {
                    const client c(where);
                    c.try_send(get("/plain") + get("/throw") + get("/yield"));
                    // Some go in the middle of the answers.
                    const std::string last = c.read_to(i % 2 == 0 ? "plain" : "yielded");
                    answers += last.ends_with("<end>") || last.ends_with("<error>") ? 0 : 1;
                }
            });
        }
        while (answers < 20)
            std::this_thread::yield();
        s->drain_and_join();
        CHECK((**s).metrics().connections_open == 0);
        CHECK((**s).metrics().requests_in_flight == 0);
        s.reset();
        over = true;
    }
}

TEST_CASE("serve() ends after its handlers, and without one that never lets go") {
    const bool lets_go = GENERATE(true, false);
    CAPTURE(lets_go);
    std::array<int, 2> entered{};
    REQUIRE(::pipe(entered.data()) == 0);
    const std::string name = "unix:@rota-lifetime-" + std::to_string(::getpid());
    const pid_t child = ::fork();
    if (child == 0) {
        router routes;
        routes.get("/{name}", [&](request& req) {
            return stay(&req, entered[1], lets_go ? 1'200ms : std::chrono::milliseconds(1h));
        });
        server_options options;
        options.drain_timeout = 10ms;
        ::_exit(serve(std::move(routes), name, std::move(options)));
    }
    const io::endpoint where = io::endpoint::parse(name);
    while (!client(where).connected())
        std::this_thread::yield();
    const client c(where);
    c.send(get("/a-name"));
    char byte = 0;
    REQUIRE(::read(entered[0], &byte, 1) == 1);
    REQUIRE(::kill(child, SIGTERM) == 0);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == (lets_go ? 0 : 1));
    ::close(entered[0]);
    ::close(entered[1]);
}

} // namespace rota::http
