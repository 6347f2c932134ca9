// Deadlines of what writes and accepts: what has become of it when they pass.

#include <cerrno>
#include <chrono>
#include <future>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <rota/errors.hpp>
#include <rota/with_timeout.hpp>

#include "support.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;
using rota::task;

namespace {

constexpr auto a_moment = 20ms; // passes, since nobody reads
constexpr auto for_ever = 1h;   // does not pass

auto after(std::chrono::nanoseconds length) { return std::chrono::steady_clock::now() + length; }

template <class T>
task<bool> is_late(task<T> waiting) {
    try {
        (void)co_await std::move(waiting);
        co_return false;
    } catch (const rota::timed_out&) {
        co_return true;
    }
}

/// Writes until the peer, which does not read, has no room; all that was queued.
task<std::string> fill_up(connection* c) {
    std::string queued;
    for (int i = 0;; ++i) {
        const std::string piece = std::to_string(i) + pattern(30'000);
        if (co_await is_late(c->write(piece, after(a_moment))))
            co_return queued;
        queued += piece;
    }
}

/// Until it is told, or the routine that is to tell has ended.
void wait_for(std::future<void> told, const rota::routine_ptr& teller) {
    while (told.wait_for(1ms) != std::future_status::ready &&
           teller->state() != rota::routine_state::stopped) {
    }
}

struct told {
    std::promise<void> late;
    std::string queued;
};

task<void> write_in_pieces(connection c, told* out) {
    out->queued = co_await fill_up(&c);
    // The kernel may find room for more meanwhile: then that is filled, too; and below each is
    // written, or it is not.
    while (!co_await is_late(c.flush(after(a_moment)))) {
        const std::string more = co_await fill_up(&c);
        out->queued += more;
    }
    if (!co_await is_late(c.write("y", after(-1h))))
        out->queued += "y";
    if (!co_await is_late(c.write_line("z", after(a_moment))))
        out->queued += "z\n";
    const std::vector<std::string_view> pieces{"1", "2"};
    if (!co_await is_late(c.write_all(pieces, after(a_moment))))
        out->queued += "12";
    out->late.set_value();
    co_await c.write("end", after(for_ever));
    co_await c.flush(after(for_ever));
    const send_progress progress = c.progress();
    expect(progress.taken + progress.left == out->queued.size() + 3, "all of it is counted");
}

} // namespace

TEST_CASE("what a deadline keeps from being written is not written, and all else is") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    told t;
    const wired w = wire(ctx, [&](connection c) { return write_in_pieces(std::move(c), &t); });
    wait_for(t.late.get_future(), w.routine);
    const std::string received = w.other.receive_all();
    finish(w.routine);
    CHECK(received.size() == t.queued.size() + 3);
    CHECK((received == t.queued + "end"));
}

namespace {

/// More than what the kernel has room for; made once, which takes its time with a sanitizer.
const std::string& too_much() {
    static const std::string all = [] {
        const std::string piece = pattern(1'000'003);
        std::string pieces;
        for (int i = 0; i < 64; ++i)
            pieces += piece;
        return pieces;
    }();
    return all;
}

/// Writes until a deadline, its own or that of with_timeout(), cuts it short.
task<void> be_cut(connection c, bool own, std::promise<void>* late) {
    const std::string& all = too_much();
    if (own) {
        expect(co_await is_late(c.write(all, after(a_moment))), "it is too much");
    } else {
        task<void> limited = rota::with_timeout(a_moment, c.write(all));
        expect(co_await is_late(std::move(limited)), "it is too much");
    }
    late->set_value(); // the peer makes room
    for (const deadline until : {deadline(), deadline(after(for_ever))}) {
        expect(co_await error_of(c.write("more", until)) == ECANCELED, "nothing may follow");
        expect(co_await error_of(c.write_owned("more", until)) == ECANCELED, "nor owned");
        expect(co_await error_of(c.write_line("more", until)) == ECANCELED, "nor a line");
        expect(!c.try_write("more"), "nor without waiting");
    }
    co_await c.flush();
    expect(co_await c.fill(), "reading goes on");
}

} // namespace

TEST_CASE("nothing follows a beginning whose rest a deadline has cut off") {
    const combination how = each_combination();
    const bool own = GENERATE(true, false);
    CAPTURE(how, own);
    context ctx(options_for(how));
    std::promise<void> late;
    std::future<void> is_late_now = late.get_future();
    const wired w = wire(ctx, [&](connection c) { return be_cut(std::move(c), own, &late); });
    wait_for(std::move(is_late_now), w.routine);
    w.other.send("x");
    const std::string received = w.other.receive_all();
    finish(w.routine);
    CHECK(received.size() > 0);
    CHECK(received.size() < too_much().size());
    CHECK(received.size() % 65'536 == 0);
    CHECK(too_much().starts_with(received));
}

TEST_CASE("a stop ends what waits for room with a deadline") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    constexpr auto body = [](connection c) -> task<void> {
        const std::string piece = pattern(30'000);
        for (;;)
            co_await c.write(piece, after(for_ever));
    };
    const wired w = wire(ctx, body);
    await_blocked(ctx, "wired", "stream::write");
    w.routine->request_stop();
    w.routine->wait_stopped();
    CHECK(w.routine->error() == nullptr);
}

TEST_CASE("an accept ends at its deadline, and loses nobody") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    constexpr auto body = [](context* c, std::promise<endpoint>* where) -> task<void> {
        rota::routine& self = co_await rota::current_routine;
        listener l(*c, self.home(), endpoint::ip("127.0.0.1", 0));
        expect(co_await is_late(l.accept(after(a_moment))), "nobody has come");
        expect(co_await is_late(l.ready(after(a_moment))), "nobody has come");
        where->set_value(l.local());
        for (const deadline until : {deadline(after(for_ever)), deadline()}) {
            accepted_socket s = co_await l.accept(until);
            connection client = adopt(*c, std::move(s), rota::assignment(self.home()));
            co_await client.write("hello");
        }
        accepted_socket late_one = co_await l.accept();
        expect(co_await is_late(l.accept(after(-1h))), "nobody else has come");
    };
    std::promise<endpoint> told_where;
    const rota::routine_ptr r = ctx.workers().spawn(body(&ctx, &told_where), {.name = "acceptor"});
    const endpoint where = told_where.get_future().get();
    CHECK(peer(where).receive_all() == "hello");
    CHECK(peer(where).receive_all() == "hello");
    const peer last(where);
    finish(r);
}
