// What becomes of a connection that fails or is aborted: io/src/connection.cpp.

#include <atomic>
#include <cerrno>
#include <string>
#include <utility>

#include <catch2/catch_test_macros.hpp>

#include <rota/errors.hpp>
#include <rota/event.hpp>
#include <rota/io/connection.hpp>

#include "support.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;
using rota::task;

TEST_CASE("abort() resets, and drops what is queued") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    constexpr auto body = [](connection c) -> task<void> {
        const auto line = co_await c.read_line();
        expect(line == "go", "the line arrives");
        static_cast<void>(c.try_write("dropped"));
        c.abort();
        bool failed = false;
        try {
            co_await c.write("more");
        } catch (const std::system_error&) {
            failed = true;
        }
        expect(failed, "writing fails");
        failed = false;
        try {
            co_await c.fill();
        } catch (const std::system_error& e) {
            failed = e.code().value() == ECONNABORTED;
        }
        expect(failed, "reading fails");
        c.abort(); // again
    };
    const wired w = wire(ctx, body);
    w.other.send("go\n");
    CHECK(w.other.receive_error() == ECONNRESET);
    finish(w.routine);
}

TEST_CASE("abort() reaches the peer while the handle is kept") {
    const combination how = each_combination();
    CAPTURE(how);
    rota::event seen;
    context ctx(options_for(how));
    constexpr auto body = [](connection c, rota::event* peer_saw) -> task<void> {
        c.abort();
        co_await peer_saw->wait();
    };
    const wired w = wire(ctx, [&](connection c) { return body(std::move(c), &seen); });
    CHECK(w.other.receive_error() == ECONNRESET);
    seen.set();
    finish(w.routine);
}

TEST_CASE("a write that waits for room fails with its connection") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    std::atomic<int> failed = 0;
    constexpr auto body = [](connection c, std::atomic<int>* error) -> task<void> {
        const std::string much(20'000'000, 'x');
        try {
            co_await c.write(much);
        } catch (const std::system_error& e) {
            *error = e.code().value();
        }
    };
    wired w = wire(ctx, [&](connection c) { return body(std::move(c), &failed); });
    await_blocked(ctx, w.routine->name(), "stream::write");
    w.other.close(); // with much unread: the kernel resets
    finish(w.routine);
    CHECK((failed == ECONNRESET || failed == EPIPE));
}

TEST_CASE("a write with a stop already requested queues nothing") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    constexpr auto body = [](connection c) -> task<void> {
        std::stop_source stopped;
        stopped.request_stop();
        const std::stop_token token = stopped.get_token();
        bool cancelled = false;
        task<void> writing = c.write("never");
        try {
            co_await writing.under(token);
        } catch (const rota::operation_cancelled&) {
            cancelled = true;
        }
        expect(cancelled, "it is cancelled");
        co_await c.write("always");
    };
    const wired w = wire(ctx, body);
    CHECK(w.other.receive_all() == "always");
    finish(w.routine);
}

TEST_CASE("abort() of a connection whose peer does not read ends it at once") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    constexpr auto body = [](connection c) -> task<void> {
        while (c.try_write(std::string(100'000, 'x'))) {
        }
        c.abort();
        co_return;
    };
    const wired w = wire(ctx, body);
    finish(w.routine);
    CHECK(w.other.receive_error() == ECONNRESET);
    CHECK(becomes([&] {
        std::size_t places = 0;
        for (const auto& status : ctx.workers().workers())
            places += status.routines + status.connections;
        return places == 0;
    }));
}

TEST_CASE("a write that is cut has queued no more than the bound") {
    const combination how = each_combination();
    CAPTURE(how);
    constexpr std::size_t much = 40'000'000; // more than the kernel buffers
    context ctx(options_for(how));
    constexpr auto body = [](connection c) -> task<void> {
        const std::string bytes(much, 'x');
        co_await c.write(bytes);
    };
    const wired w = wire(ctx, body);
    await_blocked(ctx, w.routine->name(), "stream::write");
    w.routine->request_stop();
    w.routine->wait_stopped();
    const std::size_t sent = w.other.receive_all().size();
    CHECK(sent > 0);
    CHECK(sent < much);
}
