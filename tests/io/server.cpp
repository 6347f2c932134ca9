#include <rota/io/server.hpp>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <future>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <sys/wait.h>

#include <rota/detail/quiet_thread.hpp>
#include <rota/sleep.hpp>

#include "logged.hpp"
#include "support.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;
using rota::task;

namespace {

/// Answers each line with "re: " in front, until the client ends or the server drains.
task<void> answer_lines(connection client) {
    for (;;) {
        const auto line = co_await client.read_line();
        if (!line)
            co_return;
        const std::string answer = "re: " + *line;
        co_await client.write_line(answer);
    }
}

} // namespace

TEST_CASE("a server serves several clients at once") {
    const combination how = each_combination();
    CAPTURE(how);
    const serving s(how, answer_lines);
    std::vector<peer> clients;
    for (int i = 0; i < 20; ++i)
        clients.push_back(s.dial());
    for (int round = 0; round < 3; ++round) {
        for (const peer& c : clients)
            c.send("hello\n");
        for (const peer& c : clients)
            CHECK(c.receive_exactly(10) == "re: hello\n");
    }
    CHECK(s.s.connections() == 20);
    clients.clear();
    CHECK(becomes([&] { return s.s.connections() == 0; }));
}

TEST_CASE("a server listens in several places") {
    const combination how = each_combination();
    CAPTURE(how);
    const endpoint name = endpoint::unix_path("@rota-test-server-" + std::to_string(::getpid()));
    const serving s(how, answer_lines, [&](context_options&, server_options& o) {
        o.listen.push_back(endpoint::ip("127.0.0.2", 0));
        o.listen.push_back(name);
    });
    const std::vector<endpoint> bound = s.s.listening();
    REQUIRE(bound.size() == 3);
    CHECK(bound[2].to_string() == name.to_string());
    for (const endpoint& e : bound) {
        const peer c(e);
        c.send("x\n");
        CHECK(c.receive_exactly(6) == "re: x\n");
    }
}

TEST_CASE("options that make no sense, and addresses that cannot be had, are refused") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    const endpoint any = endpoint::ip("127.0.0.1", 0);
    CHECK_THROWS_AS(server(ctx, answer_lines, {}), std::invalid_argument);
    CHECK_THROWS_AS(server(ctx, answer_lines, {.listen = {any, endpoint()}}),
                    std::invalid_argument);
    CHECK_THROWS_AS(server(ctx, server::handler(), {.listen = {any}}), std::invalid_argument);
    CHECK_THROWS_AS(server(ctx, answer_lines, {.listen = {any}, .max_connections = 0}),
                    std::invalid_argument);
    CHECK_THROWS_AS(server(ctx, answer_lines, {.listen = {any}, .drain_timeout = -1ms}),
                    std::invalid_argument);
    const plain_listener taken;
    server s(ctx, answer_lines, {.listen = {any, taken.where()}});
    CHECK_THROWS_AS(ctx.block_on(s.run()), std::system_error);
    CHECK(s.listening().empty());
    CHECK_THROWS_AS(s.run(), std::logic_error);
    const server idle(ctx, answer_lines, {.listen = {any}});
    constexpr auto asks = [](const server* of) -> task<bool> {
        try {
            (void)of->listening();
        } catch (const std::logic_error&) {
            co_return true;
        }
        co_return false;
    };
    CHECK(ctx.block_on(asks(&idle)));
}

TEST_CASE("run() is for a routine of the server's own context") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    context other(options_for(how));
    server s(ctx, answer_lines, {.listen = {endpoint::ip("127.0.0.1", 0)}});
    CHECK_THROWS_AS(other.block_on(s.run()), std::logic_error);
    CHECK(s.listening().empty());
}

TEST_CASE("no more clients at once than there may be, the next is served when one leaves") {
    const combination how = each_combination();
    CAPTURE(how);
    std::atomic<int> inside{0};
    std::atomic<int> most{0};
    const auto handler = [&](connection c) -> task<void> {
        constexpr auto serve = [](connection client, std::atomic<int>* now,
                                  std::atomic<int>* highest) -> task<void> {
            const int count = now->fetch_add(1) + 1;
            int seen = highest->load();
            while (seen < count && !highest->compare_exchange_weak(seen, count)) {
            }
            co_await client.write("hi");
            co_await client.fill();
            now->fetch_sub(1);
        };
        return serve(std::move(c), &inside, &most);
    };
    const serving s(how, handler,
                    [](context_options&, server_options& o) { o.max_connections = 3; });
    std::vector<peer> clients;
    for (int i = 0; i < 10; ++i)
        clients.push_back(s.dial());
    for (std::size_t i = 0; i < clients.size(); ++i) {
        CHECK(clients[i].receive_exactly(2) == "hi"); // first come, first served
        if (i >= 2)
            clients[i - 2].close();
    }
    clients.clear();
    CHECK(becomes([&] { return s.s.connections() == 0; }));
    CHECK(most == 3);
}

TEST_CASE("an exception ends its client only, and is told") {
    const combination how = each_combination();
    CAPTURE(how);
    std::mutex lock;
    std::vector<std::string> told;
    const auto handler = [](connection c) -> task<void> {
        constexpr auto serve = [](connection client) -> task<void> {
            const auto line = co_await client.read_line();
            if (line == "throw")
                throw std::runtime_error("thrown");
            if (line == "reset")
                throw std::system_error(ECONNRESET, std::system_category(), "as if by a peer");
            if (line == "disk")
                throw std::system_error(ENOSPC, std::system_category(), "disk");
            co_await client.write("fine");
        };
        return serve(std::move(c));
    };
    const serving s(how, handler, [&](context_options& o, server_options&) {
        o.on_error = [&](const rota::routine& r, std::exception_ptr e) {
            const std::lock_guard guard(lock);
            try {
                std::rethrow_exception(std::move(e));
            } catch (const std::exception& x) {
                told.push_back(r.name() + ": " + x.what());
            }
        };
    });
    for (const char* what : {"throw\n", "reset\n", "disk\n"}) {
        const peer c = s.dial();
        c.send(what);
        CHECK(c.receive_all().empty());
    }
    const peer c = s.dial();
    c.send("good\n");
    CHECK(c.receive_all() == "fine");
    CHECK(becomes([&] { return s.s.connections() == 0; }));
    const std::lock_guard guard(lock);
    std::ranges::sort(told); // two workers may tell in either order
    REQUIRE(told.size() == 2);
    CHECK(told[0].starts_with("client: disk"));
    CHECK(told[1] == "client: thrown");
}

TEST_CASE("a handler that throws before it is a coroutine, and one that lets go of its client") {
    const combination how = each_combination();
    CAPTURE(how);
    std::atomic<int> errors{0};
    std::atomic<int> calls{0};
    const auto handler = [&](connection c) -> task<void> {
        if (calls++ == 0)
            throw std::runtime_error("at once");
        constexpr auto drop = [](connection client) -> task<void> {
            { const connection dropped = std::move(client); }
            co_return;
        };
        return drop(std::move(c));
    };
    const serving s(how, handler, [&](context_options& o, server_options&) {
        o.on_error = [&](const rota::routine&, std::exception_ptr) { ++errors; };
    });
    CHECK(s.dial().receive_all().empty());
    CHECK(s.dial().receive_all().empty());
    CHECK(becomes([&] { return s.s.connections() == 0; }));
    CHECK(errors == 1);
}

TEST_CASE("a handler that returns no task fails for its client only") {
    const combination how = each_combination();
    CAPTURE(how);
    std::atomic<int> calls{0};
    std::atomic<int> errors{0};
    const auto handler = [&](connection c) -> task<void> {
        const auto none = [](connection) { return task<void>(); };
        return calls++ == 0 ? none(std::move(c)) : answer_lines(std::move(c));
    };
    const serving s(how, handler, [&](context_options& o, server_options&) {
        o.on_error = [&](const rota::routine&, std::exception_ptr) { ++errors; };
    });
    CHECK(s.dial().receive_all().empty());
    const peer c = s.dial();
    c.send("hello\n");
    CHECK(c.receive_exactly(10) == "re: hello\n");
    CHECK(becomes([&] { return errors == 1; })); // told behind the end of the connection
}

TEST_CASE("a drain lets those inside finish and refuses new ones") {
    const combination how = each_combination();
    CAPTURE(how);
    serving s(how, answer_lines);
    const peer half_sent = s.dial();
    half_sent.send("half of a ");
    const peer idle = s.dial();
    idle.send("ping\n");
    CHECK(idle.receive_exactly(9) == "re: ping\n");
    CHECK(becomes([&] { return s.s.connections() == 2; }));
    CHECK(!s.s.drain_token().stop_requested());
    s.s.drain();
    CHECK(s.s.drain_token().stop_requested());
    CHECK(becomes([&] {
        peer late(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        return late.try_connect(s.where) == ECONNREFUSED;
    }));
    half_sent.send("line\n");
    CHECK(half_sent.receive_exactly(19) == "re: half of a line\n");
    CHECK(s.runner->state() != rota::routine_state::stopped);
    half_sent.shutdown_write();
    idle.shutdown_write();
    CHECK(half_sent.receive_all().empty());
    CHECK(idle.receive_all().empty());
    finish(s.runner);
    CHECK(s.s.connections() == 0);
}

TEST_CASE("clients that were let in before the drain are served, even those beyond the limit") {
    const combination how = each_combination();
    CAPTURE(how);
    serving s(how, answer_lines,
              [](context_options&, server_options& o) { o.max_connections = 1; });
    std::vector<peer> clients;
    for (int i = 0; i < 5; ++i)
        clients.push_back(s.dial());
    for (const peer& c : clients)
        c.send("x\n");
    CHECK(clients[0].receive_exactly(6) == "re: x\n");
    s.s.drain();
    for (const peer& c : clients) {
        c.shutdown_write();
        CHECK(c.receive_all().ends_with("re: x\n") == (&c != &clients[0]));
    }
    finish(s.runner);
}

TEST_CASE("stopping the context in the middle of everything leaves nothing behind") {
    const combination how = each_combination();
    CAPTURE(how);
    const std::size_t before = open_descriptors();
    for (int round = 0; round < 5; ++round) {
        serving s(how, answer_lines);
        std::atomic<bool> over{false};
        std::thread clients([&] {
            while (!over) {
                try {
                    const peer c = s.dial();
                    c.send("a\nb\nc\n");
                    static_cast<void>(c.receive());
                } catch (const std::system_error&) {
                    // It is gone, or about to go.
                }
            }
        });
        CHECK(becomes([&] { return s.s.connections() > 0; }));
        s.ctx.stop();
        over = true;
        clients.join();
        CHECK(s.ctx.workers().routine_count() == 0);
    }
    CHECK(open_descriptors() == before);
}

TEST_CASE("the handler lives as long as any of its clients, and no longer") {
    const combination how = each_combination();
    CAPTURE(how);
    const auto token = std::make_shared<int>(0);
    const std::weak_ptr<int> alive = token;
    {
        context ctx(options_for(how));
        std::promise<endpoint> where;
        rota::routine_ptr runner;
        std::optional<peer> client;
        {
            auto keep = token;
            server s(ctx, [keep](connection c) -> task<void> { return answer_lines(std::move(c)); },
                     {.listen = {endpoint::ip("127.0.0.1", 0)}});
            runner = ctx.workers().spawn(s.run(), {.name = "server"});
            client.emplace(s.listening().front());
            client->send("x\n");
            CHECK(client->receive_exactly(6) == "re: x\n");
        } // the server object has gone; its clients have not
        client->send("y\n");
        CHECK(client->receive_exactly(6) == "re: y\n");
        ctx.stop();
    }
    CHECK(alive.use_count() == 1);
}

TEST_CASE("idle clients are spread evenly over the workers") {
    const combination how = each_combination();
    CAPTURE(how);
    serving s(how, answer_lines, [](context_options& o, server_options&) { o.workers = 4; });
    std::vector<peer> clients;
    for (std::size_t i = 0; i < 40; ++i) {
        clients.push_back(s.dial());
        clients.back().send("x\n");
        CHECK(clients.back().receive_exactly(6) == "re: x\n");
    }
    for (const rota::worker_status& w : s.ctx.workers().workers()) {
        CAPTURE(w.index);
        CHECK(w.connections == 10);
    }
}

TEST_CASE("run_until_signalled() drains on the first signal and ends") {
    const combination how = each_combination();
    CAPTURE(how);
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        int status = 1;
        try {
            context ctx(options_for(how));
            server s(ctx, answer_lines, {.listen = {endpoint::ip("127.0.0.1", 0)}});
            // Quiet: a thread that does not block the signals would be ended by them.
            rota::quiet_thread teller = rota::start_quiet_thread("teller", [&] {
                const std::uint16_t port = s.listening().front().port();
                static_cast<void>(!::write(ready[1], &port, sizeof port));
            });
            run_until_signalled(ctx, s);
            teller.join();
            ctx.stop();
            status = 0;
        } catch (...) {
        }
        ::_exit(status);
    }
    std::uint16_t port = 0;
    REQUIRE(::read(ready[0], &port, sizeof port) == sizeof port);
    const endpoint where = endpoint::ip("127.0.0.1", port);
    const peer half_sent(where);
    half_sent.send("first\nha");
    CHECK(half_sent.receive_exactly(10) == "re: first\n");
    REQUIRE(::kill(child, SIGTERM) == 0);
    CHECK(becomes([&] {
        peer late(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        return late.try_connect(where) == ECONNREFUSED;
    }));
    half_sent.send("lf\n");
    CHECK(half_sent.receive_exactly(9) == "re: half\n");
    half_sent.shutdown_write();
    CHECK(half_sent.receive_all().empty());
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
    ::close(ready[0]);
    ::close(ready[1]);
}

TEST_CASE("serve() returns an exit code, and says in one line why it could not") {
    const auto refused = [](const std::string& address, server_options options = {}) {
        return serve(answer_lines, address, std::move(options));
    };
    CHECK(refused("nowhere") == 1);
    CHECK(refused("unix:/no/such/directory/socket") == 1);
    CHECK(refused("0", {.max_connections = 0}) == 1);
    const serving taken(combination{}, answer_lines);
    const std::string address = taken.s.listening().at(0).to_string();
    CHECK(refused(address) == 1);
    try {
        context ctx;
        server second(ctx, answer_lines, {.listen = {address}});
        ctx.block_on(second.run());
        FAIL("it listens");
    } catch (const std::system_error& e) {
        CHECK(e.code() == std::errc::address_in_use);
        const std::string said = e.what();
        CHECK(said.find("cannot listen on " + address) == 0);
        CHECK((said.find("take another p") != std::string::npos));
    }
    CHECK(exit_code_of([] {}) == 0);
    CHECK(exit_code_of([] { throw 7; }) == 1);
    CHECK(exit_code_of([] { return 5; }) == 5);
    CHECK(exit_code_of([moved = std::make_unique<int>(6)]() mutable { return *moved; }) == 6);
    const auto fails = []() -> int { throw std::runtime_error("on purpose"); };
    CHECK(exit_code_of(fails) == 1);
    const logged log;
    CHECK(exit_code_of([] { throw std::bad_alloc(); }) == 1);
    CHECK(log.count("no memory (raise the limit of it: ulimit -v") == 1);
    CHECK(exit_code_of([] { // as the library says it of a thread
              throw std::system_error(
                  std::make_error_code(std::errc::resource_unavailable_try_again));
          }) == 1);
    CHECK(log.count("cannot start a thread: ") == 1);
    CHECK(log.count("(raise the limit of threads or of memory: ulimit -u") == 1);
}
