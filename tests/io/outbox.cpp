#include <rota/io/outbox.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "logged.hpp"
#include "support.hpp"

using namespace rota::io;
using namespace rota::io::test;
using rota::routine_ptr;
using rota::task;
using namespace std::chrono_literals;

namespace {

shared_bytes number(int n) { return shared_bytes(std::to_string(n) + "\n"); }

std::string numbers(int from, int to) {
    std::string all;
    for (int n = from; n < to; ++n)
        all += std::to_string(n) + "\n";
    return all;
}

/// Until the client ends its stream.
task<void> read_to_end(connection* client) {
    while ([[maybe_unused]] const bool more = co_await client->fill())
        client->consume(client->buffered().size());
}

task<void> serve_outbox(outbox* out, connection client) {
    task<void> body = read_to_end(&client);
    co_await out->serve(client, std::move(body));
}

wired wire_outbox(context& ctx, outbox& out) {
    return wire(ctx, [&out](connection c) { return serve_outbox(&out, std::move(c)); });
}

int error_of(const routine_ptr& r) {
    try {
        finish(r);
    } catch (const std::system_error& e) {
        return e.code().value();
    }
    return 0;
}

/// Sends until the outbox is full, that is until the client's buffers are, too; how many were
/// taken.
std::size_t send_until_full(outbox& out, const shared_bytes& message) {
    std::size_t taken = 0;
    while (out.dropped() == 0) {
        taken += out.try_send(message) ? 1 : 0;
        std::this_thread::yield();
    }
    return taken;
}

} // namespace

TEST_CASE("what is sent from any thread arrives, and the body reads beside it") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    outbox out({.messages_max = 10'000});
    const wired client = wire_outbox(ctx, out);
    constexpr int each = 1'000;
    int refused = 0;
    std::thread first([&] { // assertions are for one thread at a time
        for (int i = 0; i < each; ++i)
            refused += out.try_send(shared_bytes("a\n")) ? 0 : 1;
    });
    for (int i = 0; i < each; ++i)
        REQUIRE(out.try_send(shared_bytes("b\n")));
    first.join();
    CHECK(refused == 0);
    client.other.send("what the body reads");
    const std::string got = client.other.receive_exactly(4 * each);
    CHECK(std::count(got.begin(), got.end(), 'a') == each);
    CHECK(std::count(got.begin(), got.end(), 'b') == each);
    client.other.shutdown_write();
    CHECK(client.other.receive_all().empty());
    finish(client.routine);
    CHECK(!out.try_send(number(1))); // it has been closed
    CHECK(out.dropped() == 0);
    CHECK(!out.cut_off());
}

TEST_CASE("what is queued when the body ends is still written") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    outbox out({.messages_max = 2'000});
    for (int i = 0; i < 2'000; ++i)
        REQUIRE(out.try_send(number(i)));
    CHECK(out.size() == 2'000);
    const wired client = wire_outbox(ctx, out);
    client.other.shutdown_write();
    CHECK(client.other.receive_all() == numbers(0, 2'000));
    finish(client.routine);
    CHECK(out.size() == 0);
}

TEST_CASE("a full outbox drops what is oldest") {
    outbox out({.messages_max = 3, .policy = when_full::drop_oldest});
    for (int i = 0; i < 10; ++i)
        CHECK(out.try_send(number(i)));
    CHECK(out.size() == 3);
    CHECK(out.dropped() == 7);
    context ctx({.workers = 1});
    const wired client = wire_outbox(ctx, out);
    client.other.shutdown_write();
    CHECK(client.other.receive_all() == numbers(7, 10));
}

TEST_CASE("a full outbox drops what is newest") {
    outbox out({.messages_max = 3, .policy = when_full::drop_newest});
    for (int i = 0; i < 10; ++i)
        CHECK(out.try_send(number(i)) == (i < 3));
    CHECK(out.dropped() == 7);
    context ctx({.workers = 1});
    const wired client = wire_outbox(ctx, out);
    client.other.shutdown_write();
    CHECK(client.other.receive_all() == numbers(0, 3));
}

TEST_CASE("an outbox is full by bytes, too") {
    outbox newest({.messages_max = 100, .bytes_max = 10, .policy = when_full::drop_newest});
    CHECK(newest.try_send(shared_bytes("12345")));
    CHECK(newest.try_send(shared_bytes("67890")));
    CHECK(!newest.try_send(shared_bytes("x")));
    outbox oldest({.messages_max = 100, .bytes_max = 10, .policy = when_full::drop_oldest});
    CHECK(oldest.try_send(shared_bytes("12345")));
    CHECK(oldest.try_send(shared_bytes("67890")));
    CHECK(oldest.try_send(shared_bytes("x")));
    CHECK(oldest.size() == 2);
    CHECK(!oldest.try_send(shared_bytes("more than it ever has room for")));
    CHECK(oldest.dropped() == 4); // all of them gave way to it, in vain
    CHECK_THROWS_AS(outbox({.messages_max = 0}), std::invalid_argument);
}

TEST_CASE("a client that does not read is cut off, and costs what its bounds say") {
    const combination how = each_combination();
    CAPTURE(how);
    const logged lines;
    context ctx(options_for(how));
    outbox out({.messages_max = 16});
    const wired client = wire_outbox(ctx, out);
    send_until_full(out, shared_bytes(std::string(64'000, 'x')));
    CHECK(error_of(client.routine) == ECONNABORTED);
    CHECK(out.cut_off());
    CHECK(out.size() == 0);
    CHECK(!out.try_send(number(1)));
    CHECK(client.other.receive_error() == ECONNRESET);
    const std::string said = lines.text();
    const std::string name = client.routine->name() + '#' + std::to_string(client.routine->id());
    CHECK(said.find(name + " is cut off: it does not read, and misses 17 messages\n") !=
          std::string::npos);
}

TEST_CASE("a client that is slow misses messages, and nothing else") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    const when_full policy = GENERATE(when_full::drop_oldest, when_full::drop_newest);
    outbox out({.messages_max = 16, .policy = policy});
    const wired client = wire_outbox(ctx, out);
    constexpr std::size_t size = 64'000;
    const std::size_t taken = send_until_full(out, shared_bytes(std::string(size, 'x')));
    const std::uint64_t dropped = out.dropped();
    out.close();
    client.other.shutdown_write();
    const std::size_t arrived = client.other.receive_all().size();
    CHECK(arrived == (policy == when_full::drop_oldest ? taken - dropped : taken) * size);
    finish(client.routine);
}

TEST_CASE("a client that does not take the rest is cut off") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    outbox out({.messages_max = 1'000, .bytes_max = std::size_t{1} << 30, .finish_within = 1ms});
    for (int i = 0; i < 1'000; ++i)
        REQUIRE(out.try_send(shared_bytes(std::string(64'000, 'x'))));
    const wired client = wire_outbox(ctx, out);
    client.other.shutdown_write();
    CHECK(error_of(client.routine) == ECONNABORTED);
    CHECK(out.size() == 0);
}

TEST_CASE("a client that goes ends the writing, too") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    outbox out;
    wired client = wire_outbox(ctx, out);
    await_blocked(ctx, "outbox", "outbox");
    client.other.reset();
    CHECK(error_of(client.routine) == ECONNRESET);
    CHECK(!out.try_send(number(1)));
}

TEST_CASE("an error of the body comes out, and ends the writing") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    outbox out({.messages_max = 1'000, .bytes_max = std::size_t{1} << 30});
    constexpr auto fail_at_once = [](connection* client) -> task<void> {
        const bool more = co_await client->fill();
        throw std::runtime_error(more ? "mine" : "no");
    };
    const auto body = [&](connection c) -> task<void> {
        return [](outbox* o, connection client, auto failing) -> task<void> {
            task<void> inner = failing(&client);
            co_await o->serve(client, std::move(inner));
        }(&out, std::move(c), fail_at_once);
    };
    const wired client = wire(ctx, body);
    for (int i = 0; i < 1'000; ++i) // more than goes out while nobody reads
        REQUIRE(out.try_send(shared_bytes(std::string(64'000, 'x'))));
    client.other.send("x");
    CHECK_THROWS_AS(finish(client.routine), std::runtime_error);
}

TEST_CASE("a stop ends it in every state") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    const bool full = GENERATE(false, true);
    outbox out({.messages_max = 16, .policy = when_full::drop_newest});
    const wired client = wire_outbox(ctx, out);
    if (full) {
        send_until_full(out, shared_bytes(std::string(64'000, 'x')));
    } else {
        await_blocked(ctx, "outbox", "outbox");
    }
    client.routine->request_stop();
    client.routine->wait_stopped();
    CHECK(!out.cut_off());
    CHECK(!out.try_send(number(1)));
}

TEST_CASE("clients that read notice nothing of one that does not") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    constexpr std::size_t readers = 20;
    constexpr int messages = 300;
    std::vector<std::unique_ptr<outbox>> outboxes;
    std::vector<wired> clients;
    for (std::size_t i = 0; i <= readers; ++i) {
        outboxes.push_back(std::make_unique<outbox>(outbox_options{.messages_max = 32}));
        clients.push_back(wire_outbox(ctx, *outboxes.back()));
    }
    const std::string text(10'000, 'x');
    std::vector<std::thread> threads;
    std::atomic<int> next{0};
    std::atomic<std::size_t> complete{0};
    for (std::size_t i = 0; i < readers; ++i) {
        threads.emplace_back([&, i] {
            const std::string got = clients[i].other.receive_exactly(text.size() * messages);
            complete += got.size() == text.size() * messages ? 1 : 0;
        });
    }
    for (; next < messages; ++next) {
        const shared_bytes message(text);
        for (const auto& out : outboxes)
            out->try_send(message);
        // As fast as those that read can take it.
        for (std::size_t i = 0; i < readers; ++i)
            REQUIRE(becomes([&] { return outboxes[i]->size() < 16; }));
    }
    for (std::thread& t : threads)
        t.join();
    CHECK(complete == readers);
    // What the kernel takes of a client that does not read may be more than was sent.
    while (!outboxes.back()->cut_off())
        outboxes.back()->try_send(shared_bytes(text));
    CHECK(error_of(clients.back().routine) == ECONNABORTED);
    for (std::size_t i = 0; i < readers; ++i) {
        CHECK(outboxes[i]->dropped() == 0);
        clients[i].other.shutdown_write();
        finish(clients[i].routine);
    }
}
