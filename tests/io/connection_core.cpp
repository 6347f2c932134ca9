#include "connection_core.hpp"

#include <cerrno>
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include "core_set_up.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;

TEST_CASE("bytes are taken over at once and their buffers go back") {
    set_up s;
    s.arrive("one ");
    s.arrive("two");
    s.run();
    CHECK(s.unread() == "one ");
    s.consume(4);
    CHECK(s.unread() == "two");
    CHECK(s.buffers_at_home() == 4);
}

TEST_CASE("a view of what is buffered stays good while more arrives") {
    set_up s;
    s.arrive("first");
    s.run();
    const std::string_view view = s.core->buffered();
    for (int i = 0; i < 3; ++i) {
        s.arrive("0123456789");
        s.run();
    }
    CHECK(view == "first");
    CHECK(view.data() == s.core->buffered().data());
}

TEST_CASE("a peer that says more than a handshake and a request is a client to its worker") {
    set_up s;
    const auto before = s.home.client_heard();
    for (int i = 0; i < 8; ++i) {
        s.arrive("word");
        s.run();
        s.consume(4);
    }
    CHECK(s.home.client_heard() == before);
    s.arrive("word");
    s.run();
    CHECK(s.home.client_heard() == s.scheduler.now());
}

TEST_CASE("a receive that ends for no reason of the connection's is armed again") {
    for (const std::int32_t result : {-ECANCELED, -EINTR}) {
        set_up s;
        s.end_receive(result);
        s.run();
        s.ended = false;
        CHECK(s.arms() == 2);
    }
    set_up s;
    s.arrive("last of this receive", false); // as when the completion queue overflows
    s.run();
    s.ended = false;
    CHECK(s.arms() == 2);
    CHECK(s.unread() == "last of this receive");
}

TEST_CASE("the end of the stream and errors end the receiving") {
    set_up s;
    s.end_receive(0);
    s.run();
    CHECK(s.arms() == 1);
    CHECK(s.core->peer_closed());
    set_up t;
    t.end_receive(-ECONNRESET);
    t.run();
    CHECK(t.arms() == 1);
    CHECK(t.core->peer_closed());
}

namespace {

/// Keeps what it is told, and closes the connection.
struct keeper final : rest_keeper {
    void rest_over(connection_core& c) noexcept override {
        ++ends;
        unread = c.buffered();
        memo = c.memo();
        if (closes)
            c.close();
    }
    int ends = 0;
    bool closes = false;
    std::string unread;
    rota::io::rest_memo memo{};
};

/// A connection that has received and read something, and rests.
void begin_rest(set_up& s, keeper& k) {
    const int before = k.ends;
    s.arrive("request");
    s.run();
    s.consume(7);
    s.under_baton([&] { s.core->rest(k, s.home.turn_time() + 10s, {7, 8}); });
    s.run();
    CHECK(k.ends == before);
    CHECK(s.buffers_at_home() == 4);
}

} // namespace

TEST_CASE("a rest holds no buffer, and ends with what arrives") {
    set_up s;
    keeper k;
    for (int i = 1; i <= 3; ++i) {
        begin_rest(s, k);
        s.arrive("more");
        s.run();
        CHECK(k.ends == i);
        CHECK(k.unread == "more");
        CHECK(k.memo == rota::io::rest_memo{7, 8});
        s.arrive(" of it");
        s.run();
        CHECK(k.ends == i);
        s.consume(4);
        CHECK(s.unread() == " of it");
        s.consume(6);
    }
}

TEST_CASE("a rest ends with the stream, with a failure, with an abort and with its time") {
    const int how = GENERATE(range(0, 5));
    set_up s;
    keeper k;
    k.closes = true;
    begin_rest(s, k);
    s.closed = true;
    switch (how) {
    case 0:
        s.end_receive(0);
        break;
    case 1:
        s.end_receive(-ECONNRESET);
        break;
    case 2:
        s.under_baton([&] { s.core->abort(); });
        break;
    case 3:
        s.scheduler.advance(11s);
        break;
    default:
        s.under_baton([&] {
            keeper another;
            s.io.end_rests_by(another, s.home.turn_time());
            s.io.end_rests_by(k, s.home.turn_time() + 1s);
        });
        s.run();
        CHECK(k.ends == 0);
        s.scheduler.advance(2s);
        break;
    }
    s.run();
    CHECK(k.ends == 1);
    CHECK(k.unread.empty());
}

namespace {

/// Bytes that the socket has no room for.
void queue_untaken(set_up& s, int sends) {
    s.writes.results.assign(static_cast<std::size_t>(sends), -EAGAIN);
    s.under_baton([&] { CHECK(s.core->out().queue("an answer", false)); });
    s.run();
}

/// The next send is tried: the socket has become writable.
void become_writable(set_up& s) {
    operation* const poll = s.reads.calls.back().second;
    s.reads.complete(*poll, POLLOUT);
    s.run();
}

} // namespace

TEST_CASE("a rest takes its time from when the peer has taken all, if it takes something") {
    set_up s;
    keeper k;
    k.of_rests = {.look_after = 1s, .idle_max = 10s, .send_timeout = 30s};
    s.arrive("request");
    s.run();
    s.consume(7);
    queue_untaken(s, 1);
    s.under_baton([&] { s.core->rest(k, s.home.turn_time() + 10s, {}); });
    for (int i = 0; i < 20; ++i) {
        s.scheduler.advance(1s);
        s.run();
    }
    CHECK(k.ends == 0);
    become_writable(s);
    CHECK(s.writes.sent == "an answer");
    s.scheduler.advance(1s); // the next look finds it idle, and counts from the one before
    s.run();
    s.scheduler.advance(8s);
    s.run();
    CHECK(k.ends == 0);
    k.closes = true;
    s.scheduler.advance(3s);
    s.run();
    CHECK(k.ends == 1);
    s.closed = true;
}

TEST_CASE("a peer that takes nothing while it rests is reset, and a drain does not wait for it") {
    const bool drains = GENERATE(false, true);
    set_up s;
    keeper k;
    k.of_rests = {.look_after = 1s, .idle_max = 1h, .send_timeout = 30s};
    k.closes = true;
    s.closed = true;
    queue_untaken(s, 1);
    operation* const poll = s.reads.calls.back().second;
    s.under_baton([&] { s.core->rest(k, s.home.turn_time() + 1h, {}); });
    if (drains) {
        s.under_baton([&] { s.io.end_rests_by(k, s.home.turn_time() + 2s); });
        s.scheduler.advance(3s);
        s.run();
        CHECK(k.ends == 1);
        s.under_baton([&] { s.core->abort(); });
        s.run();
    } else {
        for (int i = 0; i < 29; ++i) {
            s.scheduler.advance(1s);
            s.run();
        }
        CHECK(k.ends == 0);
        for (int i = 0; i < 3; ++i) {
            s.scheduler.advance(1s);
            s.run();
        }
        CHECK(k.ends == 1);
    }
    s.reads.complete(*poll, -ECANCELED);
    s.run();
}

TEST_CASE("rests one behind the other keep their own times") {
    set_up s;
    keeper k;
    k.of_rests.look_after = 1s;
    for (int i = 0; i < 20; ++i) { // the timer of one is armed when the next begins
        s.arrive("x");
        s.run();
        s.consume(1);
        s.under_baton([&] { s.core->rest(k, s.home.turn_time() + 3s, {}); });
        s.scheduler.advance(2s);
        s.run();
        CHECK(k.ends == i);
        s.arrive("y");
        s.run();
        CHECK(k.ends == i + 1);
        s.consume(1);
    }
    k.closes = true;
    s.closed = true;
    s.under_baton([&] { s.core->rest(k, s.home.turn_time() + 3s, {}); });
    s.scheduler.advance(2s);
    s.run();
    CHECK(k.ends == 20);
    s.scheduler.advance(2s);
    s.run();
    CHECK(k.ends == 21);
}

TEST_CASE("a rest that begins with something unread ends at once") {
    set_up s;
    keeper k;
    s.arrive("unread");
    s.run();
    s.under_baton([&] { s.core->rest(k, s.home.turn_time() + 10s, {}); });
    s.run();
    CHECK(k.ends == 1);
    CHECK(k.unread == "unread");
}

TEST_CASE("without buffers the receive is armed again once some are back") {
    set_up s;
    s.arrive("a");
    s.arrive("b");
    s.end_receive(-ENOBUFS);
    s.run();
    s.ended = false;
    CHECK(s.arms() == 2);
}

TEST_CASE("buffers that came back before the shortage was known count") {
    set_up s;
    s.arrive("a");
    s.run();                 // it is back now
    s.end_receive(-ENOBUFS); // but when this happened it was not
    s.run();
    s.ended = false;
    CHECK(s.arms() == 2);
}

TEST_CASE("a shortage that stays is asked about now and then, not all the time") {
    for (const int error : {ENOBUFS, ENOMEM}) {
        CAPTURE(error);
        set_up s;
        s.end_receive(-error);
        s.run();
        if (s.arms() == 2) { // the first time it may be worth it
            s.end_receive(-error);
            s.run();
        }
        const std::size_t before = s.arms();
        for (int i = 0; i < 10; ++i)
            s.run();
        CHECK(s.arms() == before);
        s.scheduler.advance(50ms);
        s.run();
        CHECK(s.arms() == before + 1);
        s.end_receive(-error);
        s.run();
        CHECK(s.arms() == before + 1);
        s.scheduler.advance(50ms);
        s.run();
        s.ended = false;
        CHECK(s.arms() == before + 2);
        s.arrive("x");
        s.run();
        CHECK(s.unread() == "x");
        CHECK(!s.core->peer_closed());
    }
}

TEST_CASE("a connection that is closed while it has no buffer goes") {
    set_up s;
    s.end_receive(-ENOBUFS);
    s.run();
    s.end_receive(-ENOBUFS);
    s.run();
    s.close();
    s.run();
    CHECK(s.gone);
    s.scheduler.advance(100ms);
    s.run();
}

TEST_CASE("a receive is armed for what may be unread, and again once half of that is consumed") {
    set_up s; // 40 bytes at most
    CHECK(s.op->room == 40);
    s.arrive("0123456789abcdef");
    s.arrive("0123456789abcdef");
    s.arrive("01234567", false); // that is all that it had room for
    s.run();
    CHECK(s.arms() == 1);
    s.consume(16);
    s.run();
    CHECK(s.arms() == 1); // 24 are left
    s.consume(4);
    s.run();
    s.ended = false;
    CHECK(s.arms() == 2);
    CHECK(s.op->room == 20);
    CHECK(!s.was_cancelled());
}

TEST_CASE("a receive that ends early is armed for the rest") {
    set_up s;
    s.arrive("0123456789abcdef", false);
    s.run();
    CHECK(s.arms() == 2);
    CHECK(s.op->room == 24);
    s.arrive("01234567", false);
    s.run();
    s.ended = true;
    CHECK(s.arms() == 2); // 24 are unread
    s.consume(16);
    s.run();
    s.ended = false;
    CHECK(s.arms() == 3);
    CHECK(s.op->room == 32);
}
