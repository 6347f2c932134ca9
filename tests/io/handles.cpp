// Handles (connections, listeners) that outlive their routines, their workers, the context.

#include <rota/io/connection.hpp>

#include <atomic>
#include <cerrno>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/blocking.hpp>
#include <rota/join.hpp>
#include <rota/worker_local.hpp>
#include <rota/yield.hpp>

#include "framework/death.hpp"
#include "logged.hpp"
#include "support.hpp"

using namespace rota::io;
using namespace rota::io::test;
using rota::routine_ptr;
using rota::task;

namespace {

/// What a program might keep its connections in.
struct pool {
    std::mutex lock;
    std::vector<connection> idle;
};

task<void> fill_pool(context* ctx, endpoint to, pool* into, int count) {
    for (int i = 0; i < count; ++i) {
        connection c = co_await connect(*ctx, to);
        co_await c.write("mine");
        const std::lock_guard guard(into->lock);
        into->idle.push_back(std::move(c));
    }
}

/// Connections to `to` from every worker, and the other ends.
std::vector<peer> fill(context& ctx, const plain_listener& to, pool& into, int each) {
    std::vector<peer> others;
    for (std::size_t i = 0; i < ctx.workers().worker_count(); ++i) {
        const routine_ptr r =
            ctx.workers().spawn(fill_pool(&ctx, to.where(), &into, each),
                                {.on = ctx.workers().worker_at(i), .report_errors = false});
        for (int n = 0; n < each; ++n)
            others.push_back(to.accept());
        finish(r);
    }
    return others;
}

/// A context, connections of it in a pool, and their other ends.
struct filled {
    filled(combination how, int each) : ctx(options_for(how)), others(fill(ctx, to, p, each)) {}

    context ctx;
    plain_listener to;
    pool p;
    std::vector<peer> others;
};

int error_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const std::system_error& e) {
        return e.code().value();
    }
    return 0;
}

task<int> error_in(std::function<task<void>()> call) {
    try {
        co_await call();
    } catch (const std::system_error& e) {
        co_return e.code().value();
    }
    co_return 0;
}

enum class wait_of { read, flush };
enum class end_of { life, place, assigned_place };

task<void> wait_in(connection* c, wait_of what) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::hours(1);
    const std::string much(20'000'000, 'x');
    if (what == wait_of::read)
        co_await c->fill(until);
    if (what == wait_of::flush && c->try_write_last(much))
        co_await c->flush(until);
}

/// `stopped`: the routine that waits has been told to end.
task<void> drop_waited_in(context* ctx, endpoint to, wait_of what, end_of how, bool at_home,
                          bool stopped) {
    rota::routine& self = co_await rota::current_routine;
    std::optional<connection> c = co_await connect(*ctx, to);
    const routine_ptr waiting =
        ctx->workers().spawn(wait_in(&*c, what), {.on = &self.home(), .report_errors = false});
    while (waiting->state() != rota::routine_state::blocked)
        co_await rota::yield();
    if (stopped)
        waiting->request_stop();
    std::optional<connection> other;
    if (how == end_of::assigned_place)
        other = co_await connect(*ctx, to);
    const auto go = [&] {
        if (how != end_of::life)
            other = std::move(*c);
        c.reset();
    };
    if (at_home)
        go();
    else
        co_await rota::blocking(std::ref(go));
    co_await rota::join(waiting);
}

} // namespace

TEST_CASE("connections may end on a thread that is no worker") {
    const combination how = each_combination();
    CAPTURE(how);
    const std::size_t before = open_descriptors();
    {
        context ctx(options_for(how));
        const plain_listener listening;
        std::vector<peer> others;
        {
            pool p;
            others = fill(ctx, listening, p, 8);
        }
        for (const peer& other : others)
            CHECK(other.receive_all() == "mine"); // in good order
        CHECK(becomes([&] {
            std::size_t left = 0;
            for (const auto& w : ctx.workers().workers())
                left += w.connections;
            return left == 0;
        }));
    }
    CHECK(open_descriptors() <= before + 2); // what the process opens once
}

TEST_CASE("connections may end on another worker, and on a thread of blocking()") {
    const combination how = each_combination();
    CAPTURE(how);
    filled all(how, 4);
    constexpr auto drop = [](pool* p) -> task<void> {
        std::vector<connection> some;
        {
            const std::lock_guard guard(p->lock);
            for (std::size_t i = 0; i + 2 < p->idle.size(); ++i)
                some.push_back(std::move(p->idle[i]));
        }
        some.clear();
        co_await rota::blocking([p] { p->idle.clear(); });
    };
    all.ctx.block_on(drop(&all.p));
    for (const peer& other : all.others)
        CHECK(other.receive_all() == "mine");
}

TEST_CASE("a handle may be replaced elsewhere") {
    const combination how = each_combination();
    CAPTURE(how);
    filled all(how, 1);
    all.p.idle[0] = std::move(all.p.idle[1]);
    CHECK(all.others[0].receive_all() == "mine");
    all.p.idle.clear();
    CHECK(all.others[1].receive_all() == "mine");
}

TEST_CASE("a connection does not go, nor move, while a routine waits in it") {
    const combination how = each_combination();
    CAPTURE(how);
    const auto all = [&](wait_of what, end_of ends, bool at_home, bool stopped) {
        const plain_listener to;
        context_options options = options_for(how);
        options.reactor.linger =
            std::chrono::milliseconds(50); // what flush() waits for is never taken
        context ctx(options);
        ctx.block_on(drop_waited_in(&ctx, to.where(), what, ends, at_home, stopped));
    };
    for (const wait_of what : {wait_of::read, wait_of::flush}) {
        for (const end_of ends : {end_of::life, end_of::place, end_of::assigned_place}) {
            for (const bool at_home : {true, false}) {
                if (!at_home && ends != end_of::life)
                    continue; // another thread cannot see it
                CAPTURE(static_cast<int>(what), static_cast<int>(ends), at_home);
                CHECK(last_words([&] {
                          all(what, ends, at_home, false);
                      }).find("a connection outlives what waits in it") != std::string::npos);
                all(what, ends, at_home, true);
            }
        }
    }
}

TEST_CASE("stop() closes what the program holds, and says so") {
    const combination how = each_combination();
    CAPTURE(how);
    const logged log;
    pool p;
    const plain_listener listening;
    std::vector<peer> others;
    {
        context ctx(options_for(how));
        others = fill(ctx, listening, p, 3);
        ctx.stop();
        for (const peer& other : others) {
            std::string all; // what had gone out, or nothing: a stray is reset
            const int error = error_of([&] { all = other.receive(); });
            CHECK((error == 0 || error == ECONNRESET));
            CHECK((all == "mine" || all.empty()));
        }
        CHECK(p.idle.size() == 6);
        p.idle.pop_back(); // before the context
    }
    INFO(log.text());
    CHECK(log.text().find("still held 6 connections or listeners") != std::string::npos);
    const std::string each = "3 with " + listening.where().to_string() + " on worker ";
    CHECK(log.text().find(each + "0") != std::string::npos);
    CHECK(log.text().find(each + "1") != std::string::npos);
}

TEST_CASE("stop() says nothing where nothing is held") {
    const combination how = each_combination();
    CAPTURE(how);
    const logged log;
    {
        context ctx(options_for(how));
        const plain_listener listening;
        pool p;
        static_cast<void>(fill(ctx, listening, p, 2));
        p.idle.clear();
    }
    INFO(log.text());
    CHECK(log.text().find("held") == std::string::npos);
}

TEST_CASE("a handle that outlives the context is dead") {
    const combination how = each_combination();
    CAPTURE(how);
    pool p;
    std::unique_ptr<listener> listening;
    {
        context ctx(options_for(how));
        const plain_listener to;
        const std::vector<peer> others = fill(ctx, to, p, 300); // more than a chunk of the slab has
        constexpr auto listen = [](context* c, std::unique_ptr<listener>* out) -> task<void> {
            rota::routine& self = co_await rota::current_routine;
            *out = std::make_unique<listener>(*c, self.home(), endpoint::ip("127.0.0.1", 0));
        };
        ctx.block_on(listen(&ctx, &listening));
    }
    connection& c = p.idle.front();
    CHECK(error_of([&] { static_cast<void>(c.home()); }) == ECONNABORTED);
    CHECK(error_of([&] { static_cast<void>(c.peer()); }) == ECONNABORTED);
    CHECK(error_of([&] { static_cast<void>(c.local()); }) == ECONNABORTED);
    CHECK(c.native_handle() == -1);
    CHECK(c.peer_closed());
    CHECK(c.buffered().empty());
    CHECK(!c.try_write("x"));
    CHECK(c.progress().left == 0);
    c.shutdown_write();
    c.abort();
    c.consume(0);
    CHECK(error_of([&] { static_cast<void>(listening->local()); }) == ECANCELED);
    CHECK(!listening->try_accept());
    listening->close();

    context another(options_for(how));
    const auto ask = [&](std::function<task<void>()> call) {
        return another.block_on(error_in(std::move(call)));
    };
    CHECK(ask([&]() -> task<void> { co_await c.fill(); }) == ECONNABORTED);
    CHECK(ask([&]() -> task<void> { co_await c.fill_more(); }) == ECONNABORTED);
    CHECK(ask([&]() -> task<void> { co_await c.write("x"); }) == ECONNABORTED);
    CHECK(ask([&]() -> task<void> { co_await c.write_owned("x"); }) == ECONNABORTED);
    CHECK(ask([&]() -> task<void> { co_await c.flush(); }) == ECONNABORTED);
    CHECK(ask([&]() -> task<void> { co_await listening->accept(); }) == ECANCELED);
    std::thread first([&] { p.idle.erase(p.idle.begin() + 10, p.idle.end()); });
    first.join();
}

TEST_CASE("handles may go while the context stops") {
    const combination how = each_combination();
    CAPTURE(how);
    constexpr int rounds = 8;
    for (int i = 0; i < rounds; ++i) {
        context ctx(options_for(how));
        const plain_listener to;
        pool p;
        const std::vector<peer> others = fill(ctx, to, p, 20);
        std::vector<connection> half;
        for (int n = 0; n < 20; ++n) {
            half.push_back(std::move(p.idle.back()));
            p.idle.pop_back();
        }
        std::thread one([&half] { half.clear(); });
        std::thread two([&p] {
            while (!p.idle.empty())
                p.idle.pop_back();
        });
        ctx.stop();
        one.join();
        two.join();
    }
}

TEST_CASE("a listener may end in main()") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    std::optional<listener> listening;
    constexpr auto listen = [](context* c, std::optional<listener>* out) -> task<void> {
        rota::routine& self = co_await rota::current_routine;
        out->emplace(*c, self.home(), endpoint::ip("127.0.0.1", 0));
    };
    ctx.block_on(listen(&ctx, &listening));
    const endpoint where = listening->local();
    CHECK_NOTHROW(peer(where));
    listening.reset();
    CHECK(becomes([&] {
        peer late(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        return late.try_connect(where) == ECONNREFUSED;
    }));
}

#ifndef __SANITIZE_THREAD__ // what leads to the wait looks at the connection, which is a race
TEST_CASE("a wait on a worker that is not the connection's throws") {
    const combination how = each_combination();
    CAPTURE(how);
    filled all(how, 1);
    constexpr auto wait = [](connection* c) -> task<void> {
        const bool more = co_await c->fill();
        expect(more, "it has waited");
    };
    rota::worker& other = *all.ctx.workers().worker_at(1);
    const routine_ptr r =
        all.ctx.workers().spawn(wait(&all.p.idle.front()), {.on = &other, .report_errors = false});
    CHECK_THROWS_AS(finish(r), std::logic_error);
}
#endif

TEST_CASE("a pool of each worker's own goes with its worker") {
    const combination how = each_combination();
    CAPTURE(how);
    const logged log;
    const plain_listener to;
    rota::worker_local<std::vector<connection>> idle;
    constexpr auto put = [](context* ctx, endpoint where,
                            rota::worker_local<std::vector<connection>>* into) -> task<void> {
        connection c = co_await connect(*ctx, where);
        (*into)->push_back(std::move(c));
    };
    constexpr auto exchange = [](rota::worker_local<std::vector<connection>>* from) -> task<void> {
        connection& c = from->get().back();
        co_await c.write("again");
        const bool more = co_await c.fill();
        expect(more && c.buffered() == "yes", "the connection is of use");
    };
    std::vector<peer> others;
    {
        context ctx(options_for(how, 2));
        for (std::size_t i = 0; i < 2; ++i) {
            const routine_ptr r =
                ctx.workers().spawn(put(&ctx, to.where(), &idle),
                                    {.on = ctx.workers().worker_at(i), .report_errors = false});
            others.push_back(to.accept());
            finish(r);
        }
        const routine_ptr r = ctx.workers().spawn(
            exchange(&idle), {.on = ctx.workers().worker_at(1), .report_errors = false});
        CHECK(others[1].receive_exactly(5) == "again");
        others[1].send("yes");
        finish(r);
        ctx.workers().set_workers(1);
        CHECK(others[1].receive_all().empty()); // closed in good order
        CHECK(becomes([&] { return ctx.workers().worker_at(1)->ended(); }));
    }
    CHECK(others[0].receive_all().empty());
    INFO(log.text());
    CHECK(log.text().find("held") == std::string::npos);
}
