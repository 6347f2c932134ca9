// Datagrams that are sent: queues, rows, and what the kernel refuses.

#include "datagram_sender.hpp"

#include <cerrno>
#include <chrono>
#include <exception>
#include <future>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <netinet/in.h>
#include <netinet/udp.h>

#include <rota/errors.hpp>

#include "datagram_peer.hpp"
#include "failing_datagrams.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;
using rota::task;

namespace {

constexpr std::size_t room = 131'072;

/// A socket without a reactor.
struct plain {
    datagram_peer socket;
    datagram_sender sender{room};
    bool push() { return sender.push(socket.fd()); }
};

bool kernel_takes_rows_apart() {
    const datagram_peer p;
    const int size = 100;
    return ::setsockopt(p.fd(), SOL_UDP, UDP_SEGMENT, &size, sizeof size) == 0;
}

} // namespace

TEST_CASE("what is queued arrives as it was queued, whether it goes in rows or not") {
    if (!kernel_takes_rows_apart())
        WARN("this kernel has no UDP_SEGMENT: all go one by one");
    plain mine;
    const datagram_peer a;
    const datagram_peer b;
    failing_datagrams watch({});
    watch.no_rows = GENERATE(false, true); // as a kernel without them would have it
    CAPTURE(watch.no_rows.load());
    // Sizes that begin, go on with, and end rows.
    const std::vector<std::size_t> sizes{100, 100, 100, 50, 50, 0, 0, 7, 8, 8, 1200, 1200, 1199};
    for (const std::size_t size : sizes)
        REQUIRE(mine.sender.add(a.where(), pattern(size)));
    for (int i = 0; i < 100; ++i)
        REQUIRE(mine.sender.add(i % 10 < 7 ? b.where() : a.where(), std::to_string(i % 10)));
    REQUIRE(mine.push());
    for (const std::size_t size : sizes)
        CHECK(a.receive() == pattern(size));
    for (int i = 0; i < 100; ++i)
        CHECK((i % 10 < 7 ? b : a).receive() == std::to_string(i % 10));
    const send_report report = mine.sender.take_report();
    CHECK(report.sent == sizes.size() + 100);
    CHECK(report.failed == 0);
    CHECK(mine.sender.take_report().sent == 0);
    CHECK(mine.sender.sent() == sizes.size() + 100);
    CHECK(watch.rows >= 1);
    if (watch.no_rows)
        CHECK(watch.rows == 1); // then it is known
}

TEST_CASE("one that fails does not keep the others from going") {
    plain mine;
    const datagram_peer p;
    const endpoint nowhere = endpoint::ip("127.0.0.1", 0); // as a forged sender may have it
    failing_datagrams watch({});
    for (int i = 0; i < 5; ++i) {
        REQUIRE(mine.sender.add(p.where(), "good"));
        REQUIRE(mine.sender.add(nowhere, "bad!"));
        REQUIRE(mine.sender.add(nowhere, "bad!")); // a row
    }
    REQUIRE(mine.sender.add(p.where(), std::string(65'508, 'x'))); // 65,507 with IPv4 (RFC 768)
    REQUIRE(mine.sender.add(p.where(), std::string(65'536, 'x')));
    REQUIRE(mine.sender.add(p.where(), "row1"));
    REQUIRE(mine.sender.add(p.where(), "row2"));
    REQUIRE(mine.push());
    for (int i = 0; i < 5; ++i)
        CHECK(p.receive() == "good");
    CHECK(p.receive() == "row1");
    CHECK(p.receive() == "row2");
    const send_report report = mine.sender.take_report();
    CHECK(report.sent == 7);
    CHECK(report.failed == 12);
    CHECK(report.error == std::error_code(EMSGSIZE, std::system_category())); // the first: at once
    if (kernel_takes_rows_apart())
        CHECK(watch.rows == 1); // strangers cannot switch them off
}

TEST_CASE("the queue is bounded, and goes on where it was full") {
    plain mine;
    const datagram_peer p;
    const std::string large(60'000, 'x');
    REQUIRE(mine.sender.add(p.where(), large));
    REQUIRE(mine.sender.add(p.where(), large));
    CHECK(!mine.sender.add(p.where(), large));
    REQUIRE(mine.push());
    CHECK(mine.sender.empty());
    const datagram_peer a;
    const datagram_peer b;
    std::size_t queued = 0;
    const auto add_next = [&] {
        const bool added = mine.sender.add((queued % 2 == 0 ? a : b).where(), pattern(queued));
        queued += added ? 1 : 0;
        return added;
    };
    while (add_next()) {
    }
    CHECK(queued == datagram_sender::datagrams_max);
    failing_datagrams watch({}, {0, EAGAIN, 0, 0}); // no rows, so two calls
    CHECK(!mine.push());
    CHECK(mine.sender.sent() == 2 + datagram_sender::datagrams_max / 2);
    while (add_next()) {
    }
    CHECK(queued == datagram_sender::datagrams_max * 3 / 2);
    REQUIRE(mine.push());
    for (std::size_t i = 0; i < queued; ++i)
        CHECK((i % 2 == 0 ? a : b).receive() == pattern(i));
}

TEST_CASE("sending waits until the kernel takes it, or the deadline passes") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    failing_datagrams watch({}, {EAGAIN, EINTR, EAGAIN});
    const datagram_peer p;
    const bound_routine r(ctx, [&](datagram_socket socket) -> task<void> {
        socket.queue(p.where(), "one");
        expect((co_await socket.flush()).sent == 1, "in the end");
        expect(watch.all_failed(), "after some tries");
        watch.holds = true;
        socket.queue(p.where(), "two");
        const auto soon = std::chrono::steady_clock::now() + 20ms;
        bool late = false;
        try {
            co_await socket.flush(soon);
        } catch (const rota::timed_out&) {
            late = true;
        }
        expect(late, "it cannot be sent");
        late = false;
        try {
            co_await socket.send(p.where(), "never", soon + 20ms);
        } catch (const rota::timed_out&) {
            late = true;
        }
        expect(late, "nor can this");
        watch.holds = false;
        co_await socket.send(p.where(), "three");
        const send_report report = co_await socket.flush();
        expect(report.sent == 1 && report.failed == 0, "two: the report is of what was queued");
        expect(socket.counts().sent == 3, "and three");
    });
    finish(r.routine); // first: it says why, if nothing has been sent
    CHECK(p.receive() == "one");
    CHECK(p.receive() == "two");
    CHECK(p.receive() == "three");
}

// A poll that is ready at once must not end each wait before its timer has a chance to.
TEST_CASE("a deadline passes, too, while the kernel says again and again that there is room") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    failing_datagrams watch({});
    const datagram_peer p;
    const bound_routine r(ctx, [&](datagram_socket socket) -> task<void> {
        watch.holds = true;
        socket.queue(p.where(), "late");
        for (int i = 0; i < 50; ++i) {
            bool late = false;
            try {
                co_await socket.flush(std::chrono::steady_clock::now() + 200us);
            } catch (const rota::timed_out&) {
                late = true;
            }
            expect(late, "it cannot be sent");
        }
        watch.holds = false;
        co_await socket.flush();
    });
    finish(r.routine);
    CHECK(p.receive() == "late");
}

TEST_CASE("queue() sends where it is full, and refuses where that is no use") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    failing_datagrams watch({});
    const datagram_peer p;
    constexpr int count = 200;
    const bound_routine r(ctx, [&](datagram_socket socket) -> task<void> {
        for (int i = 0; i < count; ++i)
            expect(socket.queue(p.where(), std::to_string(i)), "there is room");
        watch.holds = true;
        int more = 0;
        while (socket.queue(p.where(), "more"))
            ++more;
        expect(more == 2 * 128 - count, "so many are refused no sooner");
        watch.holds = false;
        const send_report report = co_await socket.flush();
        expect(report.sent == 256, "all that was queued, by whatever call it went");
    });
    for (int i = 0; i < count; ++i)
        CHECK(p.receive() == std::to_string(i));
    finish(r.routine);
}

TEST_CASE("send() says what was wrong with its datagram, and the next one goes") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    const datagram_peer p;
    const bound_routine r(ctx, [&](datagram_socket socket) -> task<void> {
        for (const std::size_t size : {std::size_t{65'508}, std::size_t{1'000'000}}) {
            std::string text;
            int code = 0;
            const std::string large(size, 'x');
            try {
                co_await socket.send(p.where(), large);
            } catch (const std::system_error& e) {
                text = e.what();
                code = e.code().value();
            }
            expect(code == EMSGSIZE, "too long");
            const std::string what = std::to_string(size) + " bytes to " + p.where().to_string();
            expect(text.find(what) != std::string::npos, text);
        }
        co_await socket.send(p.where(), "next");
    });
    CHECK(p.receive() == "next");
    finish(r.routine);
}

TEST_CASE("that the other end is not there does not end a connected socket, and is counted") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    std::promise<void> told;
    std::promise<void> is_there;
    std::future<void> peer_is_there = is_there.get_future();
    endpoint where;
    {
        const datagram_peer gone;
        where = gone.where();
    }
    const auto refused = [](datagram_socket& socket) -> task<void> {
        for (int i = 0; i < 10; ++i)
            socket.queue("is anybody there?");
        const send_report report = co_await socket.flush();
        expect(report.sent + report.failed == 10 && report.failed <= 5,
               std::to_string(report.sent) + " sent, " + std::to_string(report.failed) + " failed");
        bool late = false;
        try {
            co_await socket.receive(std::chrono::steady_clock::now() + 20ms);
        } catch (const rota::timed_out&) {
            late = true;
        }
        expect(late, "no answer");
        expect(socket.counts().refused >= 1, "it is counted");
    };
    const auto ask = [&]() -> task<void> {
        datagram_socket socket = co_await datagram_socket::connect(ctx, where);
        try {
            co_await refused(socket);
            told.set_value();
        } catch (...) {
            told.set_exception(std::current_exception());
            throw;
        }
        peer_is_there.wait();
        co_await socket.send("hello");
        const auto batch = co_await socket.receive();
        expect(batch->front().bytes() == "welcome", "now there is one");
    };
    const rota::routine_ptr r = ctx.workers().spawn(ask, {.name = "asks", .report_errors = false});
    told.get_future().get();
    const datagram_peer p(where);
    is_there.set_value();
    const auto [hello, from] = p.receive_from();
    CHECK(hello == "hello");
    p.send(from, "welcome");
    finish(r);
}
