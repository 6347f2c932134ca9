// How long a datagram socket lives: its handle on other threads, beyond its routine, its context.

#include "datagram_core.hpp"

#include <cerrno>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <sys/resource.h>

#include <rota/blocking.hpp>

#include "datagram_peer.hpp"
#include "faulty_backend.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;
using rota::task;

namespace {

/// A socket of worker `index`, that outlives the routine which has made it.
datagram_socket stray(context& ctx, std::size_t index = 0) {
    std::optional<datagram_socket> made;
    constexpr auto make = [](context* c, std::optional<datagram_socket>* out) -> task<void> {
        *out = co_await datagram_socket::bind(*c, "127.0.0.1:0");
    };
    finish(ctx.workers().spawn(make(&ctx, &made),
                               {.on = ctx.workers().worker_at(index), .report_errors = false}));
    return std::move(*made);
}

template <class F>
std::pair<int, std::string> refusal_of(F&& call) {
    try {
        call();
    } catch (const std::system_error& e) {
        return {e.code().value(), e.what()};
    } catch (const std::invalid_argument& e) {
        return {-1, e.what()};
    }
    return {0, ""};
}

/// The same of a socket that cannot be.
std::pair<int, std::string> error_of_bind(context& ctx, const endpoint& at,
                                          datagram_options options = {}) {
    constexpr auto bind = [](context* c, endpoint where, datagram_options o) -> task<void> {
        static_cast<void>(co_await datagram_socket::bind(*c, where, o));
    };
    return refusal_of([&] { ctx.block_on(bind(&ctx, at, options)); });
}

bool contains(const std::string& text, std::string_view what) {
    INFO(text);
    return text.find(what) != std::string::npos;
}

} // namespace

TEST_CASE("a socket may end on any thread, also while a poll of it is armed") {
    const combination how = each_combination();
    CAPTURE(how);
    const std::size_t before = open_descriptors();
    {
        context ctx(options_for(how));
        { const datagram_socket in_main = stray(ctx); }
        datagram_socket elsewhere = stray(ctx, 0);
        const auto drop = [&]() -> task<void> {
            { const datagram_socket gone = std::move(elsewhere); }
            co_return;
        };
        finish(ctx.workers().spawn(drop, {.on = ctx.workers().worker_at(1)}));
        datagram_socket in_blocking = stray(ctx);
        ctx.block_on(rota::blocking([&] { const datagram_socket gone = std::move(in_blocking); }));
        datagram_socket one = stray(ctx);
        one = stray(ctx); // the one before it ends
        const bound_routine armed(ctx, [](datagram_socket socket) -> task<void> {
            try {
                co_await socket.receive(std::chrono::steady_clock::now() + 1ms);
            } catch (const rota::timed_out&) { // the poll is still there
            }
        });
        finish(armed.routine);
    }
    CHECK(becomes([&] { return open_descriptors() <= before + 2; })); // opened once by the process
}

TEST_CASE("a socket that outlives its context is dead") {
    const combination how = each_combination();
    CAPTURE(how);
    std::optional<datagram_socket> s;
    {
        context ctx(options_for(how));
        s = stray(ctx, 1);
        CHECK(&s->home() == ctx.workers().worker_at(1));
        CHECK(s->native_handle() >= 0);
    }
    CHECK(s->native_handle() == -1);
    CHECK(!s->queue("127.0.0.1:9", "x"));
    CHECK(refusal_of([&] { static_cast<void>(s->home()); }).first == ECONNABORTED);
    CHECK(refusal_of([&] { static_cast<void>(s->local()); }).first == ECONNABORTED);
    CHECK(refusal_of([&] { static_cast<void>(s->try_receive()); }).first == ECONNABORTED);
    CHECK(s->counts().missed == 0);
    s->drain();
    s->drain_on({});
    context another(options_for(how));
    const auto ask = [&](auto call) {
        const auto body = [&]() -> task<void> { co_await call(); };
        return refusal_of([&] { another.block_on(body); }).first;
    };
    CHECK(ask([&] { return s->receive(); }) == ECONNABORTED);
    CHECK(ask([&] { return s->ready(); }) == ECONNABORTED);
    CHECK(ask([&] { return s->flush(); }) == ECONNABORTED);
    CHECK(ask([&] { return s->send("127.0.0.1:9", "x"); }) == ECONNABORTED);
    std::thread([&] { s.reset(); }).join();
}

TEST_CASE("sockets may go while the context stops") {
    const combination how = each_combination();
    CAPTURE(how);
    for (int round = 0; round < 8; ++round) {
        context ctx(options_for(how));
        std::vector<datagram_socket> all;
        for (int i = 0; i < 20; ++i)
            all.push_back(stray(ctx, static_cast<std::size_t>(i % 2)));
        std::jthread other([&] { all.clear(); });
        ctx.stop();
    }
}

TEST_CASE("a call on a worker that is not its own, or a second wait, is a logic_error") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    datagram_socket s = stray(ctx, 0);
    const auto wait = [&]() -> task<void> { static_cast<void>(co_await s.receive()); };
    const auto spawn_on = [&](std::size_t index, std::string name) {
        return ctx.workers().spawn(wait, {.name = std::move(name),
                                          .on = ctx.workers().worker_at(index),
                                          .report_errors = false});
    };
    CHECK_THROWS_AS(finish(spawn_on(1, "elsewhere")), std::logic_error);
    const rota::routine_ptr first = spawn_on(0, "first");
    await_blocked(ctx, "first", "datagram_socket::receive");
    CHECK_THROWS_AS(finish(spawn_on(0, "second")), std::logic_error);
    first->request_stop();
    first->wait_stopped();
}

TEST_CASE("a poll that fails is tried again after a pause") {
    const combination how = each_combination();
    CAPTURE(how);
    const auto broken = std::make_shared<faults>();
    broken->poll_errors = {ENOMEM, ENOMEM};
    context ctx(options_for(how), faulty(how.backend, 256, broken));
    const bound_routine r(ctx, [](datagram_socket socket) -> task<void> {
        const auto batch = co_await socket.receive();
        expect(batch->front().bytes() == "x", "in the end");
    });
    await_blocked(ctx, "bound", "datagram_socket::receive");
    const datagram_peer p;
    p.send(r.where, "x");
    finish(r.routine);
}

TEST_CASE("what is wrong with an address or an option is said, and what to do about it") {
    context ctx(options_for(each_combination()));
    const datagram_peer there;
    const auto [in_use, text] = error_of_bind(ctx, there.where());
    CHECK(in_use == EADDRINUSE);
    CHECK(contains(text, there.where().to_string()));
    CHECK(contains(text, "ss -lunp 'sport = :" + std::to_string(there.where().port())));
    const auto [not_here, text_of_it] = error_of_bind(ctx, "192.0.2.1:0");
    CHECK(not_here == EADDRNOTAVAIL);
    CHECK(contains(text_of_it, "ip address"));
    CHECK(contains(error_of_bind(ctx, "unix:@x").second, "IPv4 or IPv6"));
    const endpoint any = "127.0.0.1:0";
    CHECK(contains(error_of_bind(ctx, any, {.datagram_bytes_max = 0}).second, "1 to 65535"));
    CHECK(contains(error_of_bind(ctx, any, {.datagram_bytes_max = 65'536}).second, "1 to 65535"));
    CHECK(contains(error_of_bind(ctx, any, {.batch_max = 0}).second, "1 to 1024"));
    CHECK(contains(error_of_bind(ctx, any, {.batch_max = 1025}).second, "1 to 1024"));
    CHECK(contains(error_of_bind(ctx, any, {.queue_bytes_max = 1}).second, "from 65536"));
}

TEST_CASE("without a descriptor there is no socket, and it says so") {
    context ctx(options_for(each_combination()));
    rlimit before{};
    ::getrlimit(RLIMIT_NOFILE, &before);
    rlimit low = before;
    {
        const peer highest(::dup(0));
        low.rlim_cur = static_cast<rlim_t>(highest.fd());
    }
    std::vector<peer> all;
    ::setrlimit(RLIMIT_NOFILE, &low);
    const auto [code, text] = error_of_bind(ctx, "127.0.0.1:0");
    ::setrlimit(RLIMIT_NOFILE, &before);
    CHECK(code == EMFILE);
    CHECK(contains(text, "ulimit -n"));
    CHECK(error_of_bind(ctx, "127.0.0.1:0").first == 0);
}
