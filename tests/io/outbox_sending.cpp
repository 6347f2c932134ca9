// Waiting for room in an outbox: send(), beside timeouts, races and the outbox's end.

#include <rota/io/outbox.hpp>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/errors.hpp>
#include <rota/event.hpp>
#include <rota/inline_scheduler.hpp>
#include <rota/when_any.hpp>
#include <rota/with_timeout.hpp>
#include <rota/yield.hpp>

#include "support.hpp"

using namespace rota::io;
using namespace rota::io::test;
using rota::task;
using namespace std::chrono_literals;

namespace {

shared_bytes text(std::string_view bytes) { return shared_bytes(bytes); }

shared_bytes numbered(int n) { return shared_bytes(std::to_string(n) + "\n"); }

/// Until the client ends its stream; writes beside that what is sent to `out`.
task<void> write_to_end(outbox* out, connection client) {
    constexpr auto read_to_end = [](connection* from) -> task<void> {
        while ([[maybe_unused]] const bool more = co_await from->fill())
            from->consume(from->buffered().size());
    };
    task<void> body = read_to_end(&client);
    co_await out->serve(client, std::move(body));
}

/// How a send has ended.
enum class ending { none, sent, refused, late, cancelled };

task<void> send_one(outbox* out, shared_bytes message, ending* how) {
    try {
        const bool sent = co_await out->send(std::move(message));
        *how = sent ? ending::sent : ending::refused;
    } catch (const rota::operation_cancelled&) {
        *how = ending::cancelled;
    }
}

task<void> send_in_time(outbox* out, shared_bytes message, std::chrono::microseconds time,
                        ending* how) {
    try {
        auto sending = rota::with_timeout(time, out->send(std::move(message)));
        const bool sent = co_await std::move(sending);
        *how = sent ? ending::sent : ending::refused;
    } catch (const rota::timed_out&) {
        *how = ending::late;
    }
}

} // namespace

TEST_CASE("who sends waits for room, first come first served, whatever the policy") {
    const when_full policy =
        GENERATE(when_full::drop_oldest, when_full::drop_newest, when_full::disconnect);
    context ctx({.workers = 2});
    outbox out({.messages_max = 2, .policy = policy});
    std::string expected;
    const auto send_all = [](outbox* to, int count) -> task<void> {
        for (int i = 0; i < count; ++i) {
            const bool sent = co_await to->send(numbered(i));
            if (!sent)
                throw std::logic_error("it is refused");
        }
    };
    for (int i = 0; i < 500; ++i)
        expected += std::to_string(i) + "\n";
    const auto sender = ctx.workers().spawn(send_all(&out, 500), {.name = "sender"});
    await_blocked(ctx, "sender", "outbox::send");
    CHECK(out.size() == 2);
    const wired client = wire(ctx, [&](connection c) { return write_to_end(&out, std::move(c)); });
    CHECK(client.other.receive_exactly(expected.size()) == expected);
    finish(sender);
    CHECK(out.dropped() == 0);
    client.other.shutdown_write();
    CHECK(client.other.receive_all().empty());
    finish(client.routine);
}

TEST_CASE("who waits to send learns that the outbox is closed, or cut off") {
    const bool cut = GENERATE(false, true);
    rota::inline_scheduler scheduler;
    outbox out({.messages_max = 1});
    REQUIRE(out.try_send(text("first")));
    ending how[3]{};
    for (ending& each : how)
        scheduler.spawn(send_one(&out, text("more"), &each));
    scheduler.run();
    CHECK(std::ranges::count(how, ending::none) == 3);
    if (cut) {
        CHECK_FALSE(out.try_send(text("one too many")));
        CHECK(out.cut_off());
    } else {
        out.close();
        CHECK(out.size() == 1);
    }
    scheduler.run();
    CHECK(std::ranges::count(how, ending::refused) == 3);
    ending late = ending::none;
    scheduler.spawn(send_one(&out, text("late"), &late));
    scheduler.run();
    CHECK(late == ending::refused);
}

TEST_CASE("what never fits is refused, and drops and cuts off nothing") {
    rota::inline_scheduler scheduler;
    const when_full policy =
        GENERATE(when_full::drop_oldest, when_full::drop_newest, when_full::disconnect);
    outbox out({.bytes_max = 10, .policy = policy});
    REQUIRE(out.try_send(text("there")));
    ending how = ending::none;
    scheduler.spawn(send_one(&out, text("more than ten bytes"), &how));
    scheduler.run();
    CHECK(how == ending::refused);
    CHECK(out.size() == 1);
    CHECK(out.dropped() == 0);
    CHECK_FALSE(out.cut_off());
}

TEST_CASE("a small message waits behind a large one, and goes on when that gives up") {
    rota::inline_scheduler scheduler;
    outbox out({.bytes_max = 10});
    REQUIRE(out.try_send(text("123")));
    ending large = ending::none;
    ending small = ending::none;
    const auto first = scheduler.spawn(send_one(&out, text("12345678"), &large));
    scheduler.run();
    scheduler.spawn(send_one(&out, text("x"), &small));
    scheduler.run();
    CHECK(small == ending::none);
    CHECK(out.size() == 1);
    first->request_stop();
    scheduler.run();
    CHECK(large == ending::cancelled);
    CHECK(small == ending::sent);
    CHECK(out.size() == 2);
}

TEST_CASE("a race that another branch wins has sent nothing") {
    rota::inline_scheduler scheduler;
    outbox full({.messages_max = 1});
    outbox other({.messages_max = 1});
    rota::event happened;
    const bool sends = GENERATE(false, true);
    REQUIRE(full.try_send(text("there")));
    if (sends)
        REQUIRE(other.try_send(text("there, too")));
    std::size_t won = 7;
    const auto race = [&]() -> task<void> {
        auto first =
            co_await rota::when_any(full.send(text("a")), other.send(text("b")), happened.wait());
        won = first.index();
    };
    scheduler.spawn(race());
    scheduler.run();
    if (sends) {
        CHECK(won == 7);
        happened.set();
        scheduler.run();
        CHECK(won == 2);
    } else {
        CHECK(won == 1);
    }
    CHECK(full.size() == 1);
    CHECK(other.size() == 1);
    // Nobody is left to come in for what is closed now.
    full.close();
    other.close();
    scheduler.run();
    CHECK(full.size() == 1);
}

TEST_CASE("what was sent in time arrives, and what was late does not") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    constexpr int each = 80;
    constexpr int senders = 4;
    outbox out({.messages_max = 2, .bytes_max = 100'000});
    const wired client = wire(ctx, [&](connection c) { return write_to_end(&out, std::move(c)); });
    std::vector<std::vector<ending>> ends(senders, std::vector<ending>(each, ending::none));
    // Large, so that the client, which reads a little at a time, is what they wait for.
    const auto message = [](int sender, int i) {
        std::string line = std::to_string(sender) + ' ' + std::to_string(i) + ' ';
        line.resize(30'000, 'x');
        return shared_bytes(line + '\n');
    };
    const auto send_all = [&](int sender) -> task<void> {
        for (int i = 0; i < each; ++i) {
            const auto time = std::chrono::microseconds(i % 7 * 500);
            task<void> one = send_in_time(&out, message(sender, i), time, &ends[sender][i]);
            co_await std::move(one);
        }
    };
    std::vector<rota::routine_ptr> running;
    for (int s = 0; s < senders; ++s)
        running.push_back(ctx.workers().spawn([&send_all, s] { return send_all(s); }));
    std::string got;
    std::jthread reader([&] { got = client.other.receive_all(); });
    for (const auto& r : running)
        finish(r);
    client.other.shutdown_write();
    reader.join();
    finish(client.routine);
    std::vector<int> last(senders, -1);
    std::size_t arrived = 0;
    for (std::size_t at = 0; at < got.size(); at += 30'001, ++arrived) {
        const int sender = std::stoi(got.substr(at));
        const int i = std::stoi(got.substr(at + 2, 10));
        CHECK(ends[sender][i] == ending::sent);
        CHECK(i > last[sender]);
        last[sender] = i;
    }
    std::size_t sent = 0;
    for (const auto& all : ends) {
        sent += static_cast<std::size_t>(std::ranges::count(all, ending::sent));
        CHECK(std::ranges::count(all, ending::none) == 0);
        CHECK(std::ranges::count(all, ending::refused) == 0);
    }
    CHECK(arrived == sent);
    CHECK(out.dropped() == 0);
}
