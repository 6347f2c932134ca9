#include <rota/io/datagram_socket.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/channel.hpp>
#include <rota/detail/budget.hpp>
#include <rota/errors.hpp>
#include <rota/when_any.hpp>
#include <rota/with_timeout.hpp>
#include <rota/yield.hpp>

#include "datagram_peer.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;
using rota::routine_ptr;
using rota::task;

TEST_CASE("datagrams come in batches, in order, each with its sender") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    constexpr int each = 40;
    std::promise<void> all_sent;
    std::future<void> are_sent = all_sent.get_future();
    std::vector<std::pair<std::string, std::string>> got;
    std::vector<std::size_t> sizes;
    const bound_routine r(ctx, [&](datagram_socket socket) -> task<void> {
        are_sent.wait(); // keeps the worker from looking meanwhile
        while (got.size() < 2 * each) {
            const auto batch = co_await socket.receive();
            sizes.push_back(batch->size());
            for (const datagram& d : *batch) {
                expect(!d.truncated(), "it is whole");
                got.emplace_back(d.from().to_string(), d.bytes());
            }
        }
        expect(!socket.try_receive(), "nothing comes twice");
        expect(socket.counts().received == 2 * each, "all are counted");
    });
    const datagram_peer a;
    const datagram_peer b;
    for (int i = 0; i < each; ++i) {
        a.send(r.where, std::to_string(i));
        b.send(r.where, std::to_string(i));
    }
    all_sent.set_value();
    finish(r.routine);
    CHECK(sizes == std::vector<std::size_t>{32, 32, 16});
    int next[2] = {};
    for (const auto& [from, bytes] : got) {
        const bool of_a = from == a.where().to_string();
        CHECK((of_a || from == b.where().to_string()));
        CHECK(bytes == std::to_string(next[of_a ? 0 : 1]++));
    }
}

TEST_CASE("a datagram may be empty, and one that is too long is cut and says so") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    const bound_routine r(
        ctx,
        [](datagram_socket socket) -> task<void> {
            std::vector<std::pair<std::string, bool>> got;
            while (got.size() < 4) {
                const auto batch = co_await socket.receive();
                for (const datagram& d : *batch)
                    got.emplace_back(d.bytes(), d.truncated());
            }
            expect(got[0] == std::pair(std::string(), false), "an empty one");
            expect(got[1] == std::pair(pattern(100), false), "one that just fits");
            expect(got[2] == std::pair(pattern(100), true), "the beginning of a longer one");
            expect(got[3] == std::pair(std::string("next"), false), "the next one is whole");
            expect(socket.counts().truncated == 1, "it is counted");
        },
        {.datagram_bytes_max = 100});
    const datagram_peer p;
    p.send(r.where, "");
    p.send(r.where, pattern(100));
    p.send(r.where, pattern(101));
    p.send(r.where, "next");
    finish(r.routine);
}

TEST_CASE("answers come back, from sockets of every family") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    std::vector<endpoint> all{"127.0.0.1:0"};
    if (has_ipv6()) {
        all.emplace_back("[::1]:0");
        all.emplace_back("*:0");
    }
    for (const endpoint& at : all) {
        const bound_routine r(ctx, echo_datagrams, {}, at);
        const bool any = at.to_string() == "[::]:0";
        const endpoint to = any ? endpoint::ip("127.0.0.1", r.where.port()) : r.where;
        const datagram_peer p(endpoint::ip(to.family() == AF_INET ? "127.0.0.1" : "::1", 0));
        for (const std::string& text : {std::string("one"), std::string(), pattern(2000)}) {
            p.send(to, text);
            const auto [answer, from] = p.receive_from();
            CHECK(answer == text);
            CHECK(from.to_string() == to.to_string());
        }
        r.routine->request_stop();
        r.routine->wait_stopped();
        CHECK(r.routine->error() == nullptr);
    }
}

TEST_CASE("two sockets of ours speak with each other") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    const bound_routine r(ctx, echo_datagrams);
    constexpr auto ask = [](context* c, endpoint to) -> task<void> {
        datagram_socket socket = co_await datagram_socket::connect(*c, to);
        for (int i = 0; i < 100; ++i) {
            co_await socket.send(std::to_string(i));
            const auto answer = co_await socket.receive(soon(1h));
            expect(answer->size() == 1 && answer->front().bytes() == std::to_string(i), "it");
            expect(answer->front().from().to_string() == to.to_string(), "from there");
        }
    };
    ctx.block_on(ask(&ctx, r.where));
    r.routine->request_stop();
    r.routine->wait_stopped();
}

TEST_CASE("ten thousand queries from eight clients, of which none is lost") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    const bound_routine r(ctx, echo_datagrams);
    std::atomic<int> wrong = 0;
    const auto ask = [&] {
        constexpr int count = 1250;
        constexpr int window = 16; // so many are on their way: it all fits the kernel's buffers
        const datagram_peer p;
        int sent = 0;
        for (int answered = 0; answered < count; ++answered) {
            for (; sent < count && sent < answered + window; ++sent)
                p.send(r.where, "query " + std::to_string(sent));
            if (p.receive() != "query " + std::to_string(answered))
                ++wrong;
        }
    };
    {
        std::vector<std::jthread> clients;
        for (int i = 0; i < 8; ++i)
            clients.emplace_back(ask);
    }
    CHECK(wrong == 0);
    r.routine->request_stop();
    r.routine->wait_stopped();
}

TEST_CASE("a wait ends at its deadline, and loses nothing") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    std::promise<void> late;
    const bound_routine r(ctx, [&](datagram_socket socket) -> task<void> {
        expect(co_await error_of([](datagram_socket* s) -> task<void> {
                   co_await s->receive(soon(20ms));
               }(&socket)) == ETIMEDOUT,
               "by its own deadline");
        expect(co_await error_of([](datagram_socket* s) -> task<void> {
                   co_await rota::with_timeout(20ms, s->receive());
               }(&socket)) == ETIMEDOUT,
               "by that around it");
        late.set_value();
        while (!co_await socket.ready(soon(1h))) {
        }
        const auto batch = co_await socket.receive(soon(-1h));
        expect(batch->front().bytes() == "late", "what is there counts");
        const auto next = co_await rota::with_timeout(1h, socket.receive());
        expect(next->front().bytes() == "next", "and it goes on");
    });
    const datagram_peer p;
    late.get_future().wait();
    p.send(r.where, "late");
    while (r.routine->state() != rota::routine_state::stopped) {
        p.send(r.where, "next");
        std::this_thread::yield();
    }
    // "late" alone may have been in the first batch, or with others.
    finish(r.routine);
}

TEST_CASE("a race with a socket takes nothing from it") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    rota::channel<int> numbers(8);
    std::atomic<bool> popped = false;
    const bound_routine r(ctx, [&](datagram_socket socket) -> task<void> {
        const auto first = co_await rota::when_any(socket.ready(), numbers.pop());
        expect(first.index() == 1, "the channel was first");
        popped = true;
        const auto second = co_await rota::when_any(socket.ready(), numbers.pop());
        expect(second.index() == 0 && std::get<0>(second), "the socket was first");
        const auto batch = socket.try_receive();
        expect(batch && batch->front().bytes() == "x", "it is there");
    });
    const datagram_peer p;
    REQUIRE(numbers.try_push(1));
    REQUIRE(becomes([&] { return popped.load(); }));
    p.send(r.where, "x");
    finish(r.routine);
}

TEST_CASE("a stop ends a wait, and a loop that never has to wait") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    const bound_routine waits(ctx, echo_datagrams);
    await_blocked(ctx, "bound", "datagram_socket::receive");
    waits.routine->request_stop();
    waits.routine->wait_stopped();
    CHECK(waits.routine->error() == nullptr);

    const bound_routine busy(ctx, [](datagram_socket socket) -> task<void> {
        while (co_await socket.receive())
            co_await socket.send(socket.local(), "to itself, again and again");
    });
    const datagram_peer p;
    p.send(busy.where, "x");
    p.send(busy.where, "y");
    busy.routine->request_stop();
    busy.routine->wait_stopped();
    CHECK(busy.routine->error() == nullptr);
}

TEST_CASE("a flood does not keep the neighbours of its worker from going on") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how, 1));
    std::atomic<bool> over = false;
    std::size_t since = 0; // of the one worker
    std::size_t most = 0;
    const bound_routine r(ctx, [&](datagram_socket socket) -> task<void> {
        while (!over) {
            const auto batch = co_await socket.receive();
            since += batch->size();
            for (std::size_t i = 0; i < batch->size(); ++i) // so that there is always one more
                socket.queue(socket.local(), "x");
            co_await socket.flush();
        }
    });
    const datagram_peer p;
    for (int i = 0; i < 100; ++i)
        p.send(r.where, "x");
    const auto neighbour = [&]() -> task<void> {
        for (int turns = 0; turns < 300; ++turns) {
            co_await rota::yield();
            most = std::max(most, since);
            since = 0;
        }
        over = true;
    };
    ctx.block_on(neighbour);
    p.send(r.where, "the last");
    finish(r.routine);
    CHECK(most <= std::size_t{rota::budget::awaits_max} * 32);
}

TEST_CASE("once it drains, what is there is given, then nothing, and answers still go") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    std::promise<void> sent;
    std::future<void> is_sent = sent.get_future();
    const bound_routine r(ctx, [&](datagram_socket socket) -> task<void> {
        is_sent.wait();
        socket.drain();
        socket.drain();
        co_await echo_datagrams(std::move(socket));
    });
    const datagram_peer p;
    for (int i = 0; i < 50; ++i)
        p.send(r.where, std::to_string(i));
    sent.set_value();
    finish(r.routine);
    for (int i = 0; i < 50; ++i)
        CHECK(p.receive() == std::to_string(i));
}

TEST_CASE("a token drains, from any thread, also a wait") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    for (int round = 0; round < 20; ++round) {
        std::stop_source draining;
        const bound_routine r(ctx, [&](datagram_socket socket) -> task<void> {
            socket.drain_on(draining.get_token());
            const auto nothing = co_await socket.receive();
            expect(!nothing, "the end");
            expect(!co_await socket.ready(), "it stays so");
        });
        if (round % 2 == 0)
            await_blocked(ctx, "bound", "datagram_socket::receive");
        draining.request_stop();
        finish(r.routine);
    }
    // The socket may go at the same moment.
    for (int round = 0; round < 200; ++round) {
        std::stop_source draining;
        const bound_routine r(ctx, [&](datagram_socket socket) -> task<void> {
            socket.drain_on(draining.get_token());
            co_return;
        });
        draining.request_stop();
        finish(r.routine);
    }
}
