#include <rota/io/tls/stream.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>

#include <rota/errors.hpp>
#include <rota/with_timeout.hpp>

#include "both_ends.hpp"
#include "record_engine.hpp"

using namespace std::chrono_literals;
using namespace rota::io::tls;
using namespace rota::io::tls::test;
using rota::task;

namespace {

std::string pattern(std::size_t size) {
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i)
        bytes[i] = static_cast<char>(i * 7 + (i >> 8));
    return bytes;
}

void expect(bool holds, const char* what) {
    if (!holds)
        throw std::logic_error(what);
}

/// Sends back what comes until the end, then ends.
task<void> echo(stream* s) {
    while (const auto piece = co_await s->read())
        co_await s->write(*piece);
    s->shutdown_write();
}

struct sides {
    context server{sample_server()};
    context client{sample_client()};
};

task<void> collect(stream* from, std::string* into) {
    while (const auto more = co_await from->read())
        *into += *more;
}

} // namespace

TEST_CASE("text of any size goes there and back, however it is cut") {
    sides of;
    const std::size_t piece = GENERATE(1, 3, 1000, 1'000'000);
    const std::size_t size = GENERATE(1, 1000, 16'384, 16'385, 300'000);
    if (piece < 1000 && size > 1000)
        return;
    both_ends ends(of.server, of.client, "a.test");
    const std::string sent = pattern(size);
    std::string received;
    const auto client = [&](stream* s) -> task<void> {
        co_await s->write(sent);
        s->shutdown_write();
        co_await collect(s, &received);
    };
    ends.talk(echo, client, piece);
    CHECK((received == sent));
    CHECK(ends.client.peer_closed());
    CHECK(ends.server_pipe.write_ended());
}

TEST_CASE("lines are read, unread bytes stay, and the end is the end") {
    sides of;
    both_ends ends(of.server, of.client, "b.test");
    const auto server = [](stream* s) -> task<void> {
        const auto first = co_await s->read_line();
        expect(first == "one", "the first line");
        const auto second = co_await s->read_line();
        expect(second == "two", "the second");
        const auto last = co_await s->read_line();
        expect(last == "end", "what is behind the last line feed");
        const auto none = co_await s->read_line();
        expect(!none, "nothing more");
        const bool more = co_await s->fill_more();
        expect(!more, "nor by fill_more");
    };
    const auto client = [](stream* s) -> task<void> {
        co_await s->write("one\r\ntw");
        co_await s->write("o\nend");
        s->shutdown_write();
    };
    ends.talk(server, client);
}

TEST_CASE("after the half-close the other direction goes on") {
    sides of;
    both_ends ends(of.server, of.client, "b.test");
    const auto server = [](stream* s) -> task<void> {
        co_await s->write("last words");
        s->shutdown_write();
        bool refused = false;
        try {
            co_await s->write("more");
        } catch (const std::system_error& e) {
            refused = e.code().value() == EPIPE;
        }
        expect(refused, "a write after the half-close is refused");
        expect(!s->try_write("more"), "so is try_write");
        expect(!s->has_room(0), "there is no room");
        const auto line = co_await s->read_line();
        expect(line == "still here", "the line arrives");
    };
    const auto client = [](stream* s) -> task<void> {
        const auto all = co_await s->read_line();
        expect(all == "last words", "all of it");
        co_await s->write_line("still here");
    };
    ends.talk(server, client);
}

TEST_CASE("an end below without close_notify is a failure where more is wanted") {
    sides of;
    both_ends ends(of.server, of.client, "b.test");
    ends.start(
        [](stream* s) -> task<void> {
            const auto line = co_await s->read_line();
            expect(line == "whole", "what has come as a whole is read");
            co_await s->read_line();
        },
        [](stream* s) -> task<void> { co_await s->write("whole\npart"); });
    ends.carry();
    ends.server_pipe.finish();
    ends.scheduler.run();
    CHECK(both_ends::failure_of(ends.server_routine) == failure::kind::truncated);
    CHECK(ends.server.peer_closed());
    CHECK(ends.server.buffered() == "part");
}

TEST_CASE("a wait that is cancelled or late loses nothing, in the middle of a record, too") {
    sides of;
    both_ends ends(of.server, of.client, "b.test");
    std::string received;
    int late = 0;
    const auto server = [&](stream* s) -> task<void> {
        for (;;) {
            bool was_late = false;
            try {
                const auto line =
                    co_await s->read_line(65'536, std::chrono::steady_clock::time_point::min());
                received = *line;
                co_return;
            } catch (const rota::timed_out&) {
                was_late = true;
            }
            late += was_late;
            try {
                const auto line = co_await rota::with_timeout(1ms, s->read_line());
                received = *line;
                co_return;
            } catch (const rota::timed_out&) {
                ++late;
            }
        }
    };
    ends.start(server, [](stream* s) -> task<void> { co_await s->write_line("in pieces"); });
    while (ends.server_routine->state() != rota::routine_state::stopped) {
        ends.scheduler.run();
        ends.server_pipe.deliver(ends.client_pipe.take(1));
        ends.client_pipe.deliver(ends.server_pipe.take());
        ends.scheduler.advance(2ms);
    }
    CHECK(received == "in pieces");
    CHECK(late > 20);
}

TEST_CASE("a writer waits for room, with a deadline before it writes") {
    sides of;
    both_ends ends(of.server, of.client, "b.test");
    bool timed_out = false;
    bool written = false;
    const auto server = [&](stream* s) -> task<void> {
        ends.server_pipe.set_room(1'000);
        expect(s->try_write("small"), "there is room for little");
        expect(!s->try_write(pattern(2'000)), "not for more");
        expect(s->has_room(100) && !s->has_room(2'000), "as it says");
        co_await s->write(pattern(10), ends.scheduler.now() + 1s);
        co_await s->write_owned(pattern(2'000), ends.scheduler.now() + 1s); // there was room
        const std::size_t before = ends.server_pipe.waiting();
        try {
            co_await s->write(pattern(10), ends.scheduler.now() + 1s);
        } catch (const rota::timed_out&) {
            timed_out = true;
        }
        expect(ends.server_pipe.waiting() == before, "nothing was queued");
        expect(!s->try_write(""), "there is no room");
        expect(s->progress().left == before, "progress is that of the stream below");
        co_await s->write("end");
        written = true;
        co_await s->flush();
    };
    std::string received;
    const auto client = [&](stream* s) -> task<void> {
        while (received.size() < 5 + 10 + 2'000 + 3) {
            const auto more = co_await s->read();
            received += *more;
        }
    };
    ends.start(server, client);
    // The network stands still once the handshake is over.
    for (int i = 0; i < 5 && ends.server_routine->state() != rota::routine_state::stopped; ++i) {
        ends.scheduler.run();
        ends.server_pipe.deliver(ends.client_pipe.take());
        ends.scheduler.run();
        if (!ends.server_pipe.has_room(1'000) && ends.server_pipe.waiting() > 2'000)
            break;
        ends.client_pipe.deliver(ends.server_pipe.take());
    }
    ends.scheduler.advance(3s);
    CHECK(timed_out);
    CHECK_FALSE(written);
    ends.carry();
    CHECK(written);
    CHECK(received == "small" + pattern(10) + pattern(2'000) + "end");
    CHECK_FALSE(ends.server_routine->error());
}

TEST_CASE("what is owed goes out where there is any room, so that a writer waits for some") {
    sides of;
    pipe_end pipe;
    stream server(pipe, of.server);
    record_engine client(std::make_shared<const snapshot>(sample_client()), "b.test");
    rota::inline_scheduler scheduler;
    const rota::routine_ptr shaking = scheduler.spawn(server.handshake(), {.name = "server"});
    std::string_view in;
    std::string out;
    REQUIRE(client.handshake(in, out) == record_engine::outcome::need_record);
    pipe.deliver(std::exchange(out, {}));
    scheduler.run();
    const std::string flight = pipe.take();
    in = flight;
    REQUIRE(client.handshake(in, out) == record_engine::outcome::done);
    pipe.deliver(std::exchange(out, {}));
    scheduler.run();
    REQUIRE(shaking->state() == rota::routine_state::stopped);
    (void)pipe.take();
    pipe.set_room(200);
    for (int i = 0; i < 20; ++i) {
        REQUIRE(SSL_key_update(const_cast<SSL*>(client.ssl()), SSL_KEY_UPDATE_REQUESTED) == 1);
        (void)client.handshake(in, out); // writes it
    }
    REQUIRE(client.write("text", out));
    pipe.deliver(out);
    REQUIRE(scheduler.run_task(server.fill()));
    CHECK_FALSE(server.try_write(""));
    REQUIRE(pipe.waiting() > 200);
    const rota::routine_ptr writing = scheduler.spawn(server.write("x"), {.name = "writer"});
    scheduler.run();
    CHECK(writing->state() != rota::routine_state::stopped);
    (void)pipe.take();
    scheduler.run();
    CHECK(writing->state() == rota::routine_state::stopped);
}

TEST_CASE("what is written in part is cut off: nothing follows, and no close_notify") {
    sides of;
    both_ends ends(of.server, of.client, "b.test");
    const auto server = [&](stream* s) -> task<void> {
        ends.server_pipe.set_room(1'000);
        bool late = false;
        try {
            co_await s->write(pattern(200'000), ends.scheduler.now() + 1s);
        } catch (const rota::timed_out&) {
            late = true;
        }
        expect(late, "there is no room for all of it");
        bool refused = false;
        try {
            co_await s->write("more");
        } catch (const std::system_error& e) {
            refused = e.code().value() == ECANCELED;
        }
        expect(refused, "nothing goes behind it");
        s->shutdown_write();
    };
    std::string received;
    const auto client = [&](stream* s) { return collect(s, &received); };
    ends.start(server, client);
    for (int i = 0; i < 3; ++i) {
        ends.scheduler.run();
        ends.server_pipe.deliver(ends.client_pipe.take());
        ends.scheduler.run();
        if (ends.server_pipe.waiting() < 60'000)
            ends.client_pipe.deliver(ends.server_pipe.take());
    }
    ends.scheduler.advance(2s);
    ends.carry();
    ends.client_pipe.finish();
    ends.scheduler.run();
    CHECK_FALSE(ends.server_routine->error());
    CHECK(both_ends::failure_of(ends.client_routine) == failure::kind::truncated);
    CHECK((received == pattern(200'000).substr(0, 65'536)));
}

TEST_CASE("of a string that the stream is given nothing is queued, or all of it") {
    sides of;
    const bool by_deadline = GENERATE(true, false);
    both_ends ends(of.server, of.client, "b.test");
    const auto late = [&](stream* s, std::string bytes) -> task<bool> {
        const rota::io::deadline until = ends.scheduler.now() + 1s;
        task<void> writing = s->write_owned(std::move(bytes), by_deadline ? until : std::nullopt);
        try {
            if (by_deadline)
                co_await std::move(writing);
            else
                co_await rota::with_timeout(1s, std::move(writing));
        } catch (const rota::timed_out&) {
            co_return true;
        }
        co_return false;
    };
    const auto server = [&](stream* s) -> task<void> {
        ends.server_pipe.set_room(1'000);
        ends.server_pipe.keep();
        bool was_late = co_await late(s, pattern(200'000)); // there was room
        expect(was_late != by_deadline, "behind it there is none");
        const std::size_t before = ends.server_pipe.waiting();
        was_late = co_await late(s, pattern(300'000));
        expect(was_late, "there is no room");
        const std::size_t more = ends.server_pipe.waiting() - before;
        expect(by_deadline ? more == 0 : more > 300'000, "a deadline comes before it is queued");
        ends.server_pipe.keep(false);
        co_await s->write("end");
        s->shutdown_write();
    };
    std::string received;
    const auto client = [&](stream* s) { return collect(s, &received); };
    ends.start(server, client);
    for (int i = 0; i < 4; ++i) {
        ends.carry();
        ends.scheduler.advance(2s);
    }
    ends.carry();
    CHECK_FALSE(ends.server_routine->error());
    CHECK((received == pattern(200'000) + (by_deadline ? "" : pattern(300'000)) + "end"));
}

TEST_CASE("a write whose wait is given up has been queued, room or not") {
    sides of;
    both_ends ends(of.server, of.client, "b.test");
    int late = 0;
    const auto server = [&](stream* s) -> task<void> {
        ends.server_pipe.set_room(1'000);
        ends.server_pipe.keep();
        for (const std::size_t size : {2'000, 10, 65'536, 65'537}) {
            try {
                co_await rota::with_timeout(1s, s->write(pattern(size)));
            } catch (const rota::timed_out&) {
                ++late;
            }
        }
        ends.server_pipe.keep(false);
        bool refused = false;
        try {
            co_await s->write("behind a beginning");
        } catch (const std::system_error& e) {
            refused = e.code().value() == ECANCELED;
        }
        expect(refused, "only the beginning of the largest has been queued");
    };
    std::string received;
    ends.start(server, [&](stream* s) { return collect(s, &received); });
    for (int i = 0; i < 5; ++i) {
        ends.carry();
        ends.scheduler.advance(2s);
    }
    ends.carry();
    CHECK_FALSE(ends.server_routine->error());
    CHECK(late == 4);
    const std::string last = pattern(65'536);
    CHECK((received == pattern(2'000) + pattern(10) + last + last));
}

TEST_CASE("a stop request before a write queues nothing") {
    sides of;
    both_ends ends(of.server, of.client, "b.test");
    std::size_t before = 0;
    bool cancelled = false;
    const auto server = [&](stream* s) -> task<void> {
        rota::routine& self = co_await rota::current_routine;
        before = ends.server_pipe.waiting();
        self.request_stop();
        try {
            co_await s->write("never");
        } catch (const rota::operation_cancelled&) {
            cancelled = true;
        }
    };
    ends.start(server, {});
    ends.scheduler.run();
    ends.server_pipe.deliver(ends.client_pipe.take());
    ends.scheduler.run();
    ends.client_pipe.deliver(ends.server_pipe.take());
    ends.scheduler.run();
    ends.server_pipe.deliver(ends.client_pipe.take());
    ends.scheduler.run();
    CHECK(cancelled);
    CHECK(ends.server_pipe.waiting() == before);
}

TEST_CASE("an abort ends everything below, and says nothing more") {
    sides of;
    both_ends ends(of.server, of.client, "b.test");
    ends.talk(
        [](stream* s) -> task<void> {
            s->abort();
            expect(!s->try_write("x"), "nothing can be written");
            co_return;
        },
        {});
    CHECK(ends.server_pipe.aborted());
    CHECK(ends.server_pipe.waiting() == 0);
}

TEST_CASE("its end says close_notify, and leaves the stream below as it is") {
    sides of;
    pipe_end a;
    pipe_end b;
    rota::inline_scheduler scheduler;
    stream client(b, of.client, "b.test");
    {
        stream server(a, of.server);
        auto hello = scheduler.spawn(server.handshake(), {.name = "server"});
        auto other = scheduler.spawn(client.handshake(), {.name = "client"});
        carry(a, b, 100'000, [&] { scheduler.run(); });
        stream moved = std::move(server);
        CHECK(moved.try_write("bye"));
    }
    CHECK_FALSE(a.write_ended());
    CHECK_FALSE(a.aborted());
    b.deliver(a.take());
    const auto line = scheduler.run_task(client.read_line());
    CHECK(line == "bye");
    CHECK_FALSE(scheduler.run_task(client.fill()));
}

TEST_CASE("nothing is read or written before the handshake, and there is one") {
    sides of;
    pipe_end a;
    rota::inline_scheduler scheduler;
    {
        stream s(a, of.server);
        CHECK_FALSE(s.try_write("x"));
        CHECK_THROWS_AS(scheduler.run_task(s.write("x")), std::logic_error);
        CHECK_THROWS_AS(scheduler.run_task(s.write_owned("x")), std::logic_error);
        CHECK_THROWS_AS(scheduler.run_task(s.fill()), std::logic_error);
    }
    CHECK(a.waiting() == 0);
    both_ends ends(of.server, of.client, "b.test");
    ends.talk({}, {});
    CHECK_THROWS_AS(ends.scheduler.run_task(ends.server.handshake()), std::logic_error);
}

TEST_CASE("a record that was changed on its way is never text") {
    sides of;
    for (std::size_t at = 0; at < 30; ++at) {
        both_ends ends(of.server, of.client, "b.test");
        ends.talk({}, {});
        REQUIRE(ends.client.try_write("secret"));
        std::string record = ends.client_pipe.take();
        if (at >= record.size())
            break;
        record[at] = static_cast<char>(record[at] ^ 1);
        ends.server_pipe.deliver(record);
        ends.server_pipe.finish();
        CHECK_THROWS_AS(ends.scheduler.run_task(ends.server.fill()), failure);
        CHECK(ends.server.buffered().empty());
    }
}
