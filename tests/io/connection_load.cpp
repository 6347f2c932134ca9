#include <rota/io/connection.hpp>

#include <atomic>
#include <cerrno>
#include <future>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <netinet/in.h>
#include <sys/ioctl.h>

#include <rota/errors.hpp>
#include <rota/sleep.hpp>
#include <rota/with_timeout.hpp>

#include "support.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;
using rota::task;

namespace {

void set_buffers(int fd, int bytes) {
    ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

} // namespace

TEST_CASE("8 MiB each way, at once") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    const std::string bytes = pattern(8 << 20);
    const wired w = wire(ctx, echo);
    std::thread sender([&] {
        w.other.send(bytes);
        w.other.shutdown_write();
    });
    CHECK((w.other.receive_all() == bytes));
    sender.join();
    finish(w.routine);
}

TEST_CASE("write() waits for a slow reader, and little is held in memory") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    constexpr std::size_t piece = 64 * 1024;
    constexpr std::size_t pieces = 256;
    std::atomic<std::size_t> written{0};
    const wired w = wire(ctx, [&written](connection c) -> task<void> {
        constexpr auto send = [](connection it, std::atomic<std::size_t>* count) -> task<void> {
            set_buffers(it.native_handle(), 64 * 1024);
            const std::string bytes = pattern(piece);
            for (std::size_t i = 0; i < pieces; ++i) {
                co_await it.write(bytes);
                count->fetch_add(piece);
            }
        };
        return send(std::move(c), &written);
    });
    await_blocked(ctx, "wired", "stream::write");
    const std::size_t in_kernel = std::size_t{16} << 20; // more than any socket takes by default
    CHECK(written <= ctx.options().high_water_bytes + in_kernel);
    CHECK(written < pieces * piece);
    // Now all of it, in small bites.
    const std::string expected = pattern(piece);
    std::size_t total = 0;
    for (;;) {
        const std::string got = w.other.receive(10'000);
        if (got.empty())
            break;
        for (std::size_t i = 0; i < got.size();) {
            const std::size_t at = (total + i) % piece;
            const std::size_t run = std::min(got.size() - i, piece - at);
            REQUIRE((got.compare(i, run, expected, at, run) == 0));
            i += run;
        }
        total += got.size();
    }
    CHECK(total == pieces * piece);
    finish(w.routine);
}

TEST_CASE("receiving pauses while too much is unread, and goes on when it is consumed") {
    const combination how = each_combination();
    CAPTURE(how);
    context_options options = options_for(how, 1);
    options.reactor.max_unread_bytes = 64 * 1024;
    options.reactor.receive_buffers = 16;
    options.reactor.receive_buffer_bytes = 4096;
    context ctx(std::move(options));
    std::promise<void> may_read;
    rota::routine_ptr nobody;
    std::atomic<bool> go{false};
    const wired w = wire(ctx, [&go](connection c) -> task<void> {
        constexpr auto read = [](connection it, std::atomic<bool>* from_now) -> task<void> {
            set_buffers(it.native_handle(), 64 * 1024);
            co_await it.fill();
            while (!*from_now)
                co_await rota::sleep_for(1ms);
            std::string all;
            while ([[maybe_unused]] const bool more = co_await it.fill()) {
                all += it.buffered();
                it.consume(it.buffered().size());
            }
            const std::string answer = std::to_string(std::hash<std::string>{}(all));
            co_await it.write(answer);
        };
        return read(std::move(c), &go);
    });
    set_buffers(w.other.fd(), 64 * 1024);
    // Another connection on the same worker shows when the reactor has had its chances.
    const wired clock = wire(ctx, echo);
    const std::string bytes = pattern(8 << 20);
    std::size_t sent = 0;
    for (int idle = 0; idle < 50;) {
        const std::size_t more = w.other.send_now(std::string_view(bytes).substr(sent));
        sent += more;
        idle = more == 0 ? idle + 1 : 0;
        clock.other.send("x");
        CHECK(clock.other.receive(1) == "x");
        REQUIRE(sent < bytes.size());
    }
    CHECK(sent < 1 << 20);
    go = true;
    w.other.send(std::string_view(bytes).substr(sent));
    w.other.shutdown_write();
    CHECK(w.other.receive_all() == std::to_string(std::hash<std::string>{}(bytes)));
    finish(w.routine);
    clock.other.shutdown_write();
    finish(clock.routine);
}

TEST_CASE("fill_more() takes more than the limit of unread bytes when it is asked for") {
    const combination how = each_combination();
    CAPTURE(how);
    context_options options = options_for(how);
    options.reactor.max_unread_bytes = 1000;
    context ctx(std::move(options));
    constexpr auto body = [](connection c) -> task<void> {
        const auto line = co_await c.read_line(1 << 20);
        expect(line == pattern(500'000), "the line arrives whole");
        std::string rest(300'000, '\0');
        const std::size_t count = co_await c.read_exactly(rest);
        expect(count == 300'000 && rest == pattern(300'000), "and so does the rest");
        co_await c.write("ok");
    };
    const wired w = wire(ctx, body);
    w.other.send(pattern(500'000) + "\n" + pattern(300'000));
    CHECK(w.other.receive_all() == "ok");
    finish(w.routine);
}

TEST_CASE("data that race with a timeout are all received") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    std::atomic<int> timeouts{0};
    std::atomic<int> arrivals{0};
    const wired w = wire(ctx, [&](connection c) -> task<void> {
        constexpr auto read = [](connection it, std::atomic<int>* late,
                                 std::atomic<int>* in_time) -> task<void> {
            std::size_t total = 0;
            for (bool more = true; more;) {
                try {
                    // By turns a deadline of the wait and a cancellation from outside.
                    if (total % 2 == 0) {
                        more = co_await it.fill(soon(700us));
                    } else {
                        task<bool> waits = it.fill();
                        more = co_await rota::with_timeout(700us, std::move(waits));
                    }
                    ++*in_time;
                    total += it.buffered().size();
                    it.consume(it.buffered().size());
                } catch (const rota::timed_out&) {
                    ++*late;
                }
            }
            const std::string answer = std::to_string(total);
            co_await it.write(answer);
        };
        return read(std::move(c), &timeouts, &arrivals);
    });
    std::minstd_rand random(7);
    std::uniform_int_distribution<int> delay_us(0, 3000);
    constexpr int count = 400;
    for (int i = 0; i < count; ++i) {
        const auto when = soon(std::chrono::microseconds(delay_us(random)));
        while (std::chrono::steady_clock::now() < when)
            std::this_thread::yield();
        w.other.send("x");
    }
    w.other.shutdown_write();
    CHECK(w.other.receive_all() == std::to_string(count));
    finish(w.routine);
    CHECK(timeouts > 0);
    CHECK(arrivals > 0);
}

TEST_CASE("lines that race with a timeout are all read whole") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    const wired w = wire(ctx, [](connection c) -> task<void> {
        constexpr auto read = [](connection it) -> task<void> {
            int expected = 0;
            for (;;) {
                try {
                    task<std::optional<std::string>> next = it.read_line();
                    const auto line = co_await rota::with_timeout(500us, std::move(next));
                    if (!line)
                        break;
                    expect(*line == "line " + std::to_string(expected++), "the next line");
                } catch (const rota::timed_out&) {
                }
            }
            expect(expected == 300, "every line");
        };
        return read(std::move(c));
    });
    std::minstd_rand random(11);
    for (int i = 0; i < 300; ++i) {
        const std::string line = "line " + std::to_string(i) + "\n";
        const std::size_t cut = random() % line.size();
        w.other.send(std::string_view(line).substr(0, cut));
        const auto when = soon(std::chrono::microseconds(random() % 2000));
        while (std::chrono::steady_clock::now() < when)
            std::this_thread::yield();
        w.other.send(std::string_view(line).substr(cut));
    }
    w.other.shutdown_write();
    finish(w.routine);
}
