#include "output.hpp"

#include <cerrno>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rota/inline_scheduler.hpp>

#include "fake_backends.hpp"
#include "read_side.hpp"
#include "write_side.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;

namespace {

/// An output over fake backends; the inline scheduler's worker is its home.
struct set_up final : output::owner {
    set_up(std::size_t high = 1000, std::size_t low = 100)
        : out(scheduler.home(), sender, poller, {.high_water_bytes = high, .low_water_bytes = low},
              *this) {
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
        out.open(fds[0]);
        scheduler.home().hold(); // so that it is us who flush
    }
    ~set_up() {
        rota::worker::restore(nullptr);
        ::close(fds[0]);
        ::close(fds[1]);
    }
    void output_settled() noexcept override { ++settled_calls; }

    /// The worker's turn, with what belongs behind it; then the read side's.
    void run() {
        for (int i = 0; i < 3; ++i) {
            scheduler.run();
            sender.flush();
            poller.turn(never, false);
        }
        scheduler.run();
    }
    bool peer_sees_end() const {
        char byte = 0;
        return ::recv(fds[1], &byte, 1, MSG_DONTWAIT) == 0;
    }
    operation& polled() { return *reads.calls.back().second; }

    rota::inline_scheduler scheduler;
    read_script reads;
    write_script writes;
    read_side poller{[this] { return std::make_unique<fake_read_backend>(reads); }, 0ns};
    write_side sender{std::make_unique<fake_write_backend>(writes), 1 << 20};
    int fds[2] = {-1, -1};
    int settled_calls = 0;
    output out;
};

/// More than any string has room for; nobody looks at them.
std::string_view too_many_bytes() {
    static const char first = 'x';
    return {&first, std::numeric_limits<std::ptrdiff_t>::max()};
}

rota::task<void> write_then_log(output* o, std::string bytes, std::string* log, char name) {
    if (!o->queue(bytes, true)) {
        log->push_back('x');
        co_return;
    }
    auto room = o->below_high_water(std::source_location::current());
    co_await room;
    log->push_back(name);
}

rota::task<void> flush_then_log(output* o, std::string* log, char name) {
    auto emptied = o->empty(std::source_location::current());
    co_await emptied;
    log->push_back(name);
}

} // namespace

TEST_CASE("what has room is taken without force, and the rest is not") {
    set_up s(100);
    CHECK(s.out.has_room(100));
    CHECK_FALSE(s.out.has_room(101));
    REQUIRE(s.out.queue("0123456789", false));
    CHECK(s.out.has_room(90));
    CHECK_FALSE(s.out.has_room(91));
    CHECK_FALSE(s.out.queue(std::string(91, 'x'), false));
    CHECK(s.out.queue(std::string(90, 'x'), false));
    s.out.cut();
    CHECK_FALSE(s.out.has_room(0));
    s.run();
    s.out.fail(EPIPE);
    CHECK_FALSE(s.out.has_room(0));
}

TEST_CASE("bytes that there is no room for are not counted as queued") {
    set_up s;
    for (const bool behind_others : {false, true}) {
        if (behind_others)
            REQUIRE(s.out.queue("ab", true));
        CHECK_THROWS(s.out.queue(too_many_bytes(), true));
        CHECK(s.out.progress().left == (behind_others ? 2 : 0));
    }
    s.run();
    CHECK(s.writes.sent == "ab");
    CHECK(s.out.progress().left == 0);
}

TEST_CASE("what is queued is sent in order, in one send") {
    set_up s;
    CHECK(s.out.queue("one ", true));
    CHECK(s.out.queue("two ", false));
    CHECK(s.out.queue_owned("three"));
    CHECK(s.writes.batches.empty()); // nothing before the flush
    s.run();
    CHECK(s.writes.sent == "one two three");
    CHECK(s.writes.batches == std::vector<std::size_t>{1});
}

TEST_CASE("large pieces are moved, not copied, and keep their place") {
    set_up s(1 << 20, 1000);
    std::string big(50'000, 'b');
    const char* const where = big.data();
    const void* seen = nullptr;
    s.writes.look = [&](const send_request& r) { seen = r.message.msg_iov[1].iov_base; };
    CHECK(s.out.queue("head ", true));
    CHECK(s.out.queue_owned(std::move(big)));
    CHECK(s.out.queue(" tail", true));
    s.run();
    CHECK(seen == where);
    CHECK(s.writes.sent == "head " + std::string(50'000, 'b') + " tail");
}

TEST_CASE("however many pieces, all are sent in order") {
    set_up s(1 << 24, 1000);
    std::string expected;
    for (int i = 0; i < 300; ++i) {
        std::string piece(20'000, static_cast<char>('a' + i % 26));
        expected += piece;
        CHECK(s.out.queue_owned(std::move(piece)));
    }
    s.run();
    CHECK((s.writes.sent == expected));
}

TEST_CASE("a partial send goes on where it ended, once the socket is writable") {
    set_up s(1 << 20, 1000);
    s.writes.results = {3, -EAGAIN, 5};
    CHECK(s.out.queue("0123456789", true));
    CHECK(s.out.queue_owned(std::string(8000, 'x')));
    s.run();
    CHECK(s.writes.sent == "012");
    REQUIRE(s.reads.calls.size() == 1);
    CHECK(s.polled().poll_events == POLLOUT);
    CHECK(s.polled().fd == s.fds[0]);
    CHECK(s.out.queue("later", true)); // joins the queue; still one poll, no send
    s.run();
    CHECK(s.writes.batches.size() == 1);

    s.reads.complete(s.polled(), POLLOUT);
    s.run();
    CHECK(s.writes.sent == "012"); // EAGAIN after all: it polls again
    REQUIRE(s.reads.calls.size() == 2);
    s.reads.complete(s.polled(), POLLOUT);
    s.run();
    CHECK(s.writes.sent == "01234567");
    s.reads.complete(s.polled(), POLLOUT);
    s.run();
    CHECK((s.writes.sent == "0123456789" + std::string(8000, 'x') + "later"));
    CHECK(s.reads.calls.size() == 3);
}

TEST_CASE("write() waits above the high-water mark until the low-water mark") {
    set_up s(1000, 100);
    std::string log;
    s.writes.results = {0};
    s.scheduler.spawn(write_then_log(&s.out, std::string(1000, 'a'), &log, 'a'));
    s.scheduler.run();
    CHECK(log == "a"); // just at the mark
    s.scheduler.spawn(write_then_log(&s.out, "b", &log, 'b'));
    s.scheduler.run();
    CHECK(log == "a");
    CHECK(!s.out.queue("c", false));
    s.run(); // takes nothing
    s.writes.results = {900};
    s.reads.complete(s.polled(), POLLOUT);
    s.run();
    CHECK(log == "a"); // 101 left
    s.writes.results = {1, 0};
    s.reads.complete(s.polled(), POLLOUT);
    s.run();
    CHECK(log == "ab"); // 100 left
}

TEST_CASE("try_write() queues nothing where write() would wait") {
    set_up s(1000, 100);
    CHECK(s.out.queue(std::string(600, 'a'), false));
    CHECK(!s.out.queue(std::string(401, 'b'), false));
    CHECK(s.out.queue(std::string(400, 'c'), false));
    CHECK(!s.out.queue("d", false));
    CHECK(!s.out.queue(std::string(5000, 'e'), false));
    s.run();
    CHECK(!s.out.queue(std::string(1001, 'f'), false));
    CHECK(s.out.queue(std::string(1000, 'g'), false));
    s.run();
    CHECK(s.writes.sent.size() == 2000);
}

TEST_CASE("flush() waits for the last byte") {
    set_up s;
    std::string log;
    s.scheduler.spawn(flush_then_log(&s.out, &log, '0'));
    s.scheduler.run();
    CHECK(log == "0"); // nothing queued
    s.writes.results = {5, 5};
    CHECK(s.out.queue(std::string(10, 'a'), true));
    s.scheduler.spawn(flush_then_log(&s.out, &log, '1'));
    s.run();
    CHECK(log == "0");
    s.reads.complete(s.polled(), POLLOUT);
    s.run();
    CHECK(log == "01");
}

TEST_CASE("a wait for room or for the end can be cancelled") {
    set_up s(10, 5);
    std::string log;
    s.writes.results = {0};
    const auto writer = s.scheduler.spawn(write_then_log(&s.out, "more than ten", &log, 'w'));
    const auto flusher = s.scheduler.spawn(flush_then_log(&s.out, &log, 'f'));
    s.run();
    writer->request_stop();
    flusher->request_stop();
    s.run();
    CHECK(writer->state() == rota::routine_state::stopped);
    CHECK(flusher->state() == rota::routine_state::stopped);
    CHECK(log.empty());
    s.reads.complete(s.polled(), POLLOUT); // what was queued goes out all the same
    s.run();
    CHECK(s.writes.sent == "more than ten");
}

TEST_CASE("a failed send fails everything that waits and that comes") {
    set_up s(10, 5);
    std::string log;
    s.writes.results = {-EPIPE};
    s.scheduler.spawn(write_then_log(&s.out, "more than ten", &log, 'w'));
    s.scheduler.spawn(flush_then_log(&s.out, &log, 'f'));
    s.run();
    CHECK(log == "wf");
    CHECK(s.out.error() == EPIPE);
    CHECK(!s.out.queue("a", true));
    CHECK(!s.out.queue("a", false));
    CHECK(!s.out.queue_owned("a"));
    s.run();
    CHECK(s.writes.batches.size() == 1);
    s.out.close();
    CHECK(s.out.settled());
}

TEST_CASE("the end of the stream follows the last byte") {
    set_up s;
    s.writes.results = {4};
    CHECK(s.out.queue("0123456789", true));
    s.out.shutdown();
    CHECK(!s.out.queue("more", true));
    s.run();
    CHECK(!s.peer_sees_end());
    s.reads.complete(s.polled(), POLLOUT);
    s.run();
    CHECK(s.writes.sent == "0123456789");
    CHECK(s.peer_sees_end());
}

TEST_CASE("with nothing queued the end of the stream comes at once") {
    set_up s;
    s.out.shutdown();
    CHECK(s.peer_sees_end());
}

TEST_CASE("after close() it is settled when the last byte has gone") {
    set_up s;
    s.out.close();
    CHECK(s.out.settled());

    set_up t;
    t.writes.results = {1};
    CHECK(t.out.queue("12", true));
    t.out.close();
    CHECK(!t.out.settled());
    t.run();
    CHECK(!t.out.settled());
    t.reads.complete(t.polled(), POLLOUT);
    t.run();
    CHECK(t.out.settled());
    CHECK(t.settled_calls == 1);
    CHECK(t.writes.sent == "12");
}

TEST_CASE("fail() while it waits for the socket cancels the poll and sends nothing more") {
    set_up s;
    std::string log;
    s.writes.results = {1};
    CHECK(s.out.queue("0123456789", true));
    s.scheduler.spawn(flush_then_log(&s.out, &log, 'f'));
    s.run();
    s.out.fail(ECONNABORTED);
    s.out.close();
    CHECK(!s.out.settled());
    s.run();
    CHECK(log == "f");
    REQUIRE(s.reads.calls.size() == 2);
    CHECK(s.reads.calls.back().first == 'c');
    CHECK(!s.out.settled()); // the kernel still has the poll
    s.reads.complete(s.polled(), -ECANCELED);
    s.run();
    CHECK(s.out.settled());
    CHECK(s.out.error() == ECONNABORTED);
    CHECK(s.writes.sent == "0");
}

TEST_CASE("fail() while it is with the write side lets it go at the next send") {
    set_up s;
    CHECK(s.out.queue("0123456789", true));
    s.out.fail(ECONNABORTED);
    s.out.close();
    CHECK(!s.out.settled());
    s.run();
    CHECK(s.out.settled());
    CHECK(s.writes.sent.empty());
    CHECK(!s.out.queue("a", true));
}

TEST_CASE("the first error stays") {
    set_up s;
    s.out.fail(ECONNABORTED);
    s.out.fail(EPIPE);
    CHECK(s.out.error() == ECONNABORTED);
    s.out.shutdown(); // nothing to end any more
    CHECK(!s.peer_sees_end());
}

TEST_CASE("a shortage of memory in the kernel is waited out, without spinning") {
    for (const int error : {ENOBUFS, ENOMEM}) {
        CAPTURE(error);
        set_up s;
        s.writes.results = {4, -error, -error};
        CHECK(s.out.queue("0123456789", true));
        s.run();
        s.reads.complete(s.polled(), POLLOUT);
        s.run();
        CHECK(s.writes.batches.size() == 2);
        for (const std::size_t sends : {3, 4}) {
            s.scheduler.advance(49ms);
            s.run();
            CHECK(s.writes.batches.size() == sends - 1);
            s.scheduler.advance(1ms);
            s.run();
            CHECK(s.writes.batches.size() == sends);
        }
        CHECK(s.writes.sent == "0123456789");
        CHECK(s.reads.calls.size() == 1); // it is the time that is waited for, not the socket
    }
}

TEST_CASE("fail() while a shortage is waited out ends it") {
    set_up s;
    s.writes.results = {-ENOBUFS};
    CHECK(s.out.queue("0123456789", true));
    s.sender.flush();
    s.out.close();
    s.out.fail(ECONNABORTED);
    s.run();
    CHECK(!s.out.settled());
    s.scheduler.advance(50ms);
    s.run();
    CHECK(s.out.settled());
    CHECK(s.writes.sent.empty());
}
