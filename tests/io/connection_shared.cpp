// Shared bytes through real sockets, on all backends and topologies.

#include <rota/io/connection.hpp>

#include <atomic>
#include <cerrno>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include <catch2/catch_test_macros.hpp>

#include <rota/io/shared_bytes.hpp>

#include "support.hpp"
#include "watched.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;
using rota::task;

namespace {

task<void> send_between(connection c, shared_bytes what, std::atomic<int>* error) {
    co_await c.write("before ");
    shared_bytes again = what;
    try {
        if (!c.try_write_shared("at once ", what)) {
            co_await c.write("at once ");
            co_await c.write_shared(std::move(what));
        }
        co_await c.write_shared(std::move(again));
        co_await c.write(" behind");
        co_await c.flush();
    } catch (const std::system_error& e) {
        *error = e.code().value();
    }
}

} // namespace

TEST_CASE("shared bytes come whole, to many at once, and are held no longer") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    std::atomic<int> error{0};
    for (const std::size_t size : {std::size_t{1}, std::size_t{40'000}, std::size_t{3'000'001}}) {
        const watched w(pattern(size));
        const auto body = [&](connection c) { return send_between(std::move(c), w.bytes, &error); };
        const wired one = wire(ctx, body);
        const wired other = wire(ctx, body);
        const std::string whole = "before at once " + *w.held + *w.held + " behind";
        CHECK((one.other.receive_all() == whole));
        CHECK((other.other.receive_all() == whole));
        finish(one.routine);
        finish(other.routine);
        CHECK(error == 0);
        CHECK(becomes([&] { return w.holders() == 0; }));
    }
}

TEST_CASE("a client that goes away lets go of what it was sent") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    const watched w(pattern(std::size_t{20} << 20));
    std::atomic<int> error{0};
    wired gone =
        wire(ctx, [&](connection c) { return send_between(std::move(c), w.bytes, &error); });
    await_blocked(ctx, gone.routine->name(), "stream::write");
    CHECK(w.holders() > 0);
    gone.other.reset();
    finish(gone.routine);
    CHECK((error == ECONNRESET || error == EPIPE));
    CHECK(becomes([&] { return w.holders() == 0; }));
}

TEST_CASE("shared bytes of a deadline that has passed are not queued") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    const watched w(pattern(std::size_t{20} << 20));
    constexpr auto serve = [](connection c, shared_bytes what) -> task<void> {
        shared_bytes again = what;
        const auto soon = std::chrono::steady_clock::now() + 20ms;
        bool late = false;
        try {
            co_await c.write_shared(std::move(what), soon);
            co_await c.write_shared(std::move(again), soon);
        } catch (const rota::timed_out&) {
            late = true;
        }
        expect(late, "there is no room for the second");
        co_await c.write(" behind"); // it is whole
    };
    const wired slow = wire(ctx, [&](connection c) { return serve(std::move(c), w.bytes); });
    await_blocked(ctx, slow.routine->name(), "stream::write");
    CHECK(becomes([&] { return w.holders() <= 1; }));
    CHECK((slow.other.receive_all() == *w.held + " behind"));
    finish(slow.routine);
}
