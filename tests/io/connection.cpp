#include <rota/io/connection.hpp>

#include <atomic>
#include <cerrno>
#include <future>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <netinet/in.h>
#include <sys/ioctl.h>

#include <rota/errors.hpp>
#include <rota/sleep.hpp>
#include <rota/when_all.hpp>
#include <rota/with_timeout.hpp>

#include "support.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;
using rota::task;

namespace {

task<void> read_all_then_answer(connection c) {
    std::size_t total = 0;
    while ([[maybe_unused]] const bool more = co_await c.fill()) {
        total += c.buffered().size();
        c.consume(c.buffered().size());
    }
    const std::string answer = "got " + std::to_string(total);
    co_await c.write(answer);
}

int error_of(const std::exception_ptr& e) {
    try {
        std::rethrow_exception(e);
    } catch (const std::system_error& s) {
        return s.code().value();
    } catch (...) {
        return -1;
    }
}

} // namespace

TEST_CASE("of two coroutines that read one connection one is told so") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    std::atomic<int> refused = 0;
    const wired w = wire(ctx, [&refused](connection c) -> task<void> {
        constexpr auto read_one = [](connection* from, std::atomic<int>* errors) -> task<void> {
            try {
                (void)co_await from->fill();
            } catch (const std::logic_error&) {
                ++*errors;
            }
        };
        co_await rota::when_all(read_one(&c, &refused), read_one(&c, &refused));
    });
    while (refused == 0)
        std::this_thread::yield();
    w.other.send("x");
    w.routine->wait_stopped();
    CHECK(refused == 1);
}

TEST_CASE("bytes go there and back") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    const wired w = wire(ctx, echo);
    for (const std::size_t size : {1, 10, 8192, 8193, 100'000}) {
        const std::string bytes = pattern(size);
        w.other.send(bytes);
        CHECK((w.other.receive_exactly(size) == bytes));
    }
    w.other.shutdown_write();
    CHECK(w.other.receive_all().empty());
    finish(w.routine);
}

TEST_CASE("a peer that has half-closed still gets its answer") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    const wired w = wire(ctx, read_all_then_answer);
    w.other.send("0123456789");
    w.other.shutdown_write();
    CHECK(w.other.receive_all() == "got 10");
    finish(w.routine);
}

TEST_CASE("after our half-close the peer's bytes still arrive") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    constexpr auto body = [](connection c) -> task<void> {
        expect(c.has_room(10), "there is room");
        expect(!c.has_room(std::size_t{1} << 30), "but not for anything");
        co_await c.write("last words");
        c.shutdown_write();
        bool refused = false;
        try {
            co_await c.write("more");
        } catch (const std::system_error& e) {
            refused = e.code().value() == EPIPE;
        }
        expect(refused, "a write after the half-close is refused");
        expect(!c.try_write("more"), "so is try_write");
        expect(!c.has_room(1), "there is no room any more");
        const auto line = co_await c.read_line();
        expect(line == "still here", "the line arrives");
        const bool more = co_await c.fill();
        expect(!more, "the end of the stream");
        expect(c.peer_closed(), "and it is known");
    };
    const wired w = wire(ctx, body);
    CHECK(w.other.receive_all() == "last words");
    w.other.send("still here\n");
    w.other.shutdown_write();
    finish(w.routine);
}

TEST_CASE("what was written leaves before a closed connection ends") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    const std::string bytes = pattern(4 << 20);
    const wired w = wire(ctx, [&bytes](connection c) -> task<void> {
        // Not through write(), which would wait for the peer.
        static_cast<void>(c.try_write("first "));
        constexpr auto send = [](connection it, std::string all) -> task<void> {
            task<void> waits = it.write_owned(std::move(all));
            try {
                co_await rota::with_timeout(1ms, std::move(waits));
            } catch (const rota::timed_out&) {
            }
        };
        return send(std::move(c), bytes);
    });
    finish(w.routine); // the handle is gone, nothing has been read
    CHECK((w.other.receive_all() == "first " + bytes));
}

TEST_CASE("a closed connection whose peer does not read is cut after the linger time") {
    const combination how = each_combination();
    CAPTURE(how);
    context_options options = options_for(how);
    options.reactor.linger = 30ms;
    context ctx(std::move(options));
    const std::size_t before = open_descriptors();
    constexpr auto body = [](connection c) -> task<void> {
        task<void> waits = c.write_owned(std::string(16 << 20, 'x'));
        try {
            co_await rota::with_timeout(1ms, std::move(waits));
        } catch (const rota::timed_out&) {
        }
    };
    const wired w = wire(ctx, body);
    finish(w.routine);
    CHECK(becomes([&] { return open_descriptors() == before + 1; })); // the peer's
    CHECK(w.other.receive_error() == ECONNRESET);
}

TEST_CASE("a deadline passes, and what comes later is not lost") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    std::promise<void> timed_out;
    const wired w = wire(ctx, [&timed_out](connection c) -> task<void> {
        constexpr auto read = [](connection it, std::promise<void>* told) -> task<void> {
            for (int i = 0; i < 2; ++i) {
                bool late = false;
                const auto limit = soon(5ms);
                try {
                    co_await it.read_line(100, limit);
                } catch (const rota::timed_out&) {
                    late = true;
                }
                expect(late && std::chrono::steady_clock::now() >= limit, "it waited that long");
            }
            bool late = false;
            try {
                task<bool> waits = it.fill_more();
                co_await rota::with_timeout(5ms, std::move(waits));
            } catch (const rota::timed_out&) {
                late = true;
            }
            expect(late, "with_timeout does the same");
            told->set_value();
            const auto line = co_await it.read_line();
            expect(line == "half a line", "everything is there");
            // The time is up, but the bytes are there.
            const bool there = co_await it.fill(soon(-1s));
            expect(there && it.buffered() == "x", "no deadline for what has arrived");
        };
        return read(std::move(c), &timed_out);
    });
    w.other.send("half");
    timed_out.get_future().wait();
    w.other.send(" a line\nx");
    finish(w.routine);
}

TEST_CASE("what read() has shown is dropped by the next call, whichever") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    const wired w = wire(ctx, [](connection c) {
        constexpr auto body = [](connection it) -> task<void> {
            auto piece = co_await it.read(soon(1h));
            expect(piece && piece->starts_with("a"), "the first");
            while (piece->size() < 3) { // however it arrives
                it.unread(piece->size());
                piece = co_await it.read();
            }
            expect(piece == "abc", "the first piece");
            co_await it.write(*piece);
            expect(it.buffered() == "abc", "it is there until the next call");
            connection moved = std::move(it);
            expect(co_await moved.fill(), "the second piece");
            expect(moved.buffered().starts_with("d"), "and nothing of the first");
            moved.consume(1);
            co_await moved.write("more");
            while (auto rest = co_await moved.read())
                co_await moved.write(*rest);
            moved.shutdown_write();
        };
        return body(std::move(c));
    });
    w.other.send("abc");
    CHECK(w.other.receive_exactly(3) == "abc");
    w.other.send("d");
    CHECK(w.other.receive_exactly(4) == "more");
    w.other.send("efg");
    CHECK(w.other.receive_exactly(3) == "efg");
    w.other.shutdown_write();
    CHECK(w.other.receive_all().empty());
    finish(w.routine);
}

TEST_CASE("a stop request ends the wait of a reader, a writer, a flusher") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    constexpr auto reads = [](connection c) -> task<void> { co_await c.fill(); };
    constexpr auto writes = [](connection c) -> task<void> {
        for (;;)
            co_await c.write_owned(std::string(100'000, 'x'));
    };
    constexpr auto flushes = [](connection c) -> task<void> {
        while (c.try_write(std::string(10'000, 'x'))) {
        }
        co_await c.flush();
        for (;;) { // should the kernel have taken all of it
            static_cast<void>(c.try_write(std::string(10'000, 'x')));
            co_await c.flush();
        }
    };
    struct row {
        const char* what;
        connection_body body;
    };
    for (const row& r : {row{"stream::fill", reads}, row{"stream::write", writes},
                         row{"stream::flush", flushes}}) {
        CAPTURE(r.what);
        const wired w = wire(ctx, r.body);
        await_blocked(ctx, "wired", r.what);
        w.routine->request_stop();
        w.routine->wait_stopped();
        CHECK(w.routine->error() == nullptr); // operation_cancelled is a good end
    }
}

TEST_CASE("a reset by the peer fails reading and writing") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    constexpr auto reads = [](connection c) -> task<void> { co_await c.fill(); };
    wired r = wire(ctx, reads);
    await_blocked(ctx, "wired", "stream::fill");
    r.other.reset();
    r.routine->wait_stopped();
    CHECK(error_of(r.routine->error()) == ECONNRESET);

    constexpr auto writes = [](connection c) -> task<void> {
        for (;;)
            co_await c.write_owned(std::string(100'000, 'x'));
    };
    wired s = wire(ctx, writes);
    await_blocked(ctx, "wired", "stream::write");
    s.other.reset();
    s.routine->wait_stopped();
    const int error = error_of(s.routine->error());
    CHECK((error == ECONNRESET || error == EPIPE));
}

TEST_CASE("a connection tells its addresses, its socket and its worker, and can be moved") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    std::string peer_address;
    std::string local_address;
    const wired w = wire(ctx, [&](connection c) -> task<void> {
        constexpr auto look = [](connection it, std::string* theirs,
                                 std::string* ours) -> task<void> {
            rota::routine& self = co_await rota::current_routine;
            expect(&it.home() == &self.home(), "it lives here");
            *theirs = it.peer().to_string();
            *ours = it.local().to_string();
            int type = 0;
            socklen_t length = sizeof type;
            ::getsockopt(it.native_handle(), SOL_SOCKET, SO_TYPE, &type, &length);
            expect(type == SOCK_STREAM, "a stream socket");
            connection other = std::move(it);
            connection third = std::move(other);
            other = std::move(third);
            co_await echo(std::move(other));
        };
        return look(std::move(c), &peer_address, &local_address);
    });
    w.other.send("x");
    CHECK(w.other.receive(1) == "x");
    w.other.shutdown_write();
    finish(w.routine);
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    REQUIRE(::getsockname(w.other.fd(), reinterpret_cast<sockaddr*>(&address), &length) == 0);
    CHECK(peer_address ==
          endpoint::from(reinterpret_cast<sockaddr*>(&address), length).to_string());
    CHECK(local_address.starts_with("127.0.0.1:"));
}

TEST_CASE("closing leaves no descriptor behind, whatever was under way") {
    const combination how = each_combination();
    CAPTURE(how);
    const std::size_t before = open_descriptors();
    {
        context ctx(options_for(how));
        std::vector<wired> all;
        constexpr auto reads = [](connection c) -> task<void> { co_await c.fill(); };
        constexpr auto writes = [](connection c) -> task<void> {
            for (;;)
                co_await c.write_owned(std::string(100'000, 'x'));
        };
        constexpr auto leaves = [](connection c) -> task<void> {
            static_cast<void>(c.try_write("bye"));
            co_return;
        };
        for (int i = 0; i < 20; ++i) {
            all.push_back(wire(ctx, reads));
            all.push_back(wire(ctx, writes));
            all.push_back(wire(ctx, leaves));
        }
        ctx.stop(); // in the middle of it
        for (const wired& w : all)
            CHECK(w.routine->state() == rota::routine_state::stopped);
    }
    CHECK(open_descriptors() == before);
}
