// Handlers that do not let go of the thread they are on: who is held up, and who is not.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <future>
#include <mutex>
#include <semaphore>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <poll.h>

#include <rota/sleep.hpp>
#include <rota/stall_watch.hpp>
#include <rota/worker.hpp>

#include "posted_gate.hpp"
#include "support.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;
using rota::stall_report;
using rota::task;

namespace {

/// What a handler waits for without letting go.
struct holding {
    std::binary_semaphore begun{0};
    posted_gate may_end;
};

/// A context of two workers whose events all run on the receiving thread, if a worker is asleep.
context_options lending(combination how) {
    context_options o = options_for(how);
    o.reactor.inline_budget = 10s;
    o.stall_limit = 0ms;
    return o;
}

[[gnu::noinline]] void hold_on(holding* h) {
    h->begun.release();
    h->may_end.acquire();
}

/// Answers lines; holds its thread when it is told to.
connection_body answering(holding* h) {
    constexpr auto body = [](connection client, holding* held) -> task<void> {
        for (;;) {
            const auto line = co_await client.read_line();
            if (!line)
                co_return;
            if (*line == "hold")
                hold_on(held);
            const std::string answer = "re: " + *line;
            co_await client.write_line(answer);
        }
    };
    return [h, body](connection client) { return body(std::move(client), h); };
}

bool has_input(const peer& p) {
    pollfd waiting{.fd = p.fd(), .events = POLLIN, .revents = 0};
    return ::poll(&waiting, 1, 0) != 0;
}

void await_parked(const rota::worker& w) {
    REQUIRE(becomes([&w] { return w.state() == rota::baton::parked; }));
}

/// How many of this process's descriptors are `what`.
std::ptrdiff_t count_descriptors(std::string_view what) {
    return std::ranges::count_if(std::filesystem::directory_iterator("/proc/self/fd"),
                                 [what](const std::filesystem::directory_entry& each) {
                                     std::error_code gone;
                                     return std::filesystem::read_symlink(each, gone) == what;
                                 });
}

/// Asks and waits for the answer.
void talk(const peer& p, int rounds = 20) {
    for (int i = 0; i < rounds; ++i) {
        p.send("hello\n");
        REQUIRE(p.receive_exactly(10) == "re: hello\n");
    }
}

} // namespace

TEST_CASE("while a handler holds its worker the connections of others are served") {
    const combination how = each_combination();
    CAPTURE(how);
    holding held;
    context ctx(lending(how));
    rota::worker* const first = ctx.workers().worker_at(0);
    rota::worker* const second = ctx.workers().worker_at(1);
    const wired holder = wire(ctx, answering(&held), first);
    const wired behind = wire(ctx, answering(&held), first);
    const wired other = wire(ctx, answering(&held), second);
    talk(holder.other);
    talk(behind.other);
    talk(other.other);
    for (int round = 0; round < 3; ++round) {
        await_parked(*first);
        holder.other.send("hold\n");
        held.begun.acquire();
        behind.other.send("hello\n");
        talk(other.other);
        const wired fresh = wire(ctx, answering(&held), second);
        talk(fresh.other);
        CHECK_FALSE(has_input(behind.other));
        CHECK_FALSE(has_input(holder.other));
        held.may_end.release();
        CHECK(behind.other.receive_exactly(10) == "re: hello\n");
        CHECK(holder.other.receive_exactly(9) == "re: hold\n");
        fresh.other.shutdown_write();
        CHECK(fresh.other.receive_all().empty());
        finish(fresh.routine);
    }
    talk(holder.other);
    for (const wired* w : {&holder, &behind, &other}) {
        w->other.shutdown_write();
        CHECK(w->other.receive_all().empty());
        finish(w->routine);
    }
}

TEST_CASE("after ten handlers that hold the receiving thread it still reads as it began") {
    const combination how = each_combination();
    CAPTURE(how);
    constexpr std::size_t times = 10;
    holding held;
    context_options o = lending(how);
    o.workers = times + 1;
    o.reactor.receive_buffers = 8;
    o.reactor.receive_buffer_bytes = 512;
    context ctx(std::move(o));
    const auto worker = [&ctx](std::size_t i) { return ctx.workers().worker_at(i); };
    // Of every worker one that stays, and one more that sends all the time.
    std::vector<wired> all;
    for (std::size_t i = 0; i <= times; ++i)
        all.push_back(wire(ctx, answering(&held), worker(i)));
    const wired streaming = wire(ctx, echo, worker(times));
    const std::string bytes = pattern(3'000'000);
    std::thread sender([&] {
        streaming.other.send(bytes);
        streaming.other.shutdown_write();
    });
    std::future<std::string> echoed =
        std::async(std::launch::async, [&] { return streaming.other.receive_all(); });
    for (const wired& w : all)
        talk(w.other);
    const auto rings = count_descriptors("anon_inode:[io_uring]");
    const auto epolls = count_descriptors("anon_inode:[eventpoll]");
    for (std::size_t i = 0; i < times; ++i) {
        await_parked(*worker(i));
        all[i].other.send("hold\n");
        held.begun.acquire();
        for (const wired& w : std::span(all).subspan(i + 1)) // only by the one that takes over
            talk(w.other, 3);
        held.may_end.release();
        CHECK(all[i].other.receive_exactly(9) == "re: hold\n");
        CHECK(count_descriptors("anon_inode:[eventpoll]") == epolls);
    }
    CHECK(echoed.get() == bytes);
    sender.join();
    finish(streaming.routine);
    for (const wired& w : all)
        talk(w.other, 3);
    CHECK(becomes([&] { return count_descriptors("anon_inode:[io_uring]") == rings; }));
    if (how.backend == backend_kind::io_uring)
        CHECK(rings > 0);
    for (const wired& w : all) {
        w.other.shutdown_write();
        CHECK(w.other.receive_all().empty());
        finish(w.routine);
    }
}

TEST_CASE("what is on its way when another thread takes over arrives once and in order") {
    const combination how = each_combination();
    CAPTURE(how);
    holding held;
    context ctx(lending(how));
    rota::worker* const first = ctx.workers().worker_at(0);
    rota::worker* const second = ctx.workers().worker_at(1);
    const wired holder = wire(ctx, answering(&held), first);
    std::vector<wired> streams;
    for (int i = 0; i < 4; ++i)
        streams.push_back(wire(ctx, echo, second));
    const std::string bytes = pattern(1'500'000);
    std::vector<std::thread> senders;
    std::vector<std::future<std::string>> echoed;
    std::atomic<std::size_t> sent{0};
    for (const wired& s : streams) {
        const peer* const p = &s.other;
        senders.emplace_back([p, &bytes, &sent] {
            for (std::string_view rest = bytes; !rest.empty();) {
                const std::string_view piece = rest.substr(0, 3000);
                p->send(piece);
                sent += piece.size();
                rest.remove_prefix(piece.size());
            }
            p->shutdown_write();
        });
        echoed.push_back(std::async(std::launch::async, [p] { return p->receive_all(); }));
    }
    // In the middle of it.
    CHECK(becomes([&] { return sent > bytes.size(); }));
    holder.other.send("hold\n");
    held.begun.acquire();
    for (auto& e : echoed)
        CHECK(e.get() == bytes);
    held.may_end.release();
    for (auto& s : senders)
        s.join();
    CHECK(holder.other.receive_exactly(9) == "re: hold\n");
    for (const wired& s : streams)
        finish(s.routine);
    talk(holder.other);
}

TEST_CASE("while a handler holds its worker new clients go to others, and waits can be cancelled") {
    const combination how = each_combination();
    CAPTURE(how);
    holding held;
    context ctx(lending(how));
    rota::worker* const first = ctx.workers().worker_at(0);
    rota::worker* const second = ctx.workers().worker_at(1);
    server s(ctx, answering(&held), {.listen = {endpoint::ip("127.0.0.1", 0)}});
    const rota::routine_ptr runner = ctx.workers().spawn(s.run(), {.name = "server", .on = second});
    const endpoint where = s.listening().front();
    const wired holder = wire(ctx, answering(&held), first);
    const wired stopped = wire(ctx, answering(&held), second);
    talk(stopped.other);
    await_parked(*first);
    holder.other.send("hold\n");
    held.begun.acquire();
    CHECK(becomes([first] { return first->held_up(); }));
    std::vector<peer> clients;
    for (int i = 0; i < 5; ++i) {
        clients.emplace_back(where);
        talk(clients.back());
    }
    stopped.routine->request_stop();
    stopped.routine->wait_stopped();
    CHECK(stopped.other.receive_all().empty());
    held.may_end.release();
    CHECK(holder.other.receive_exactly(9) == "re: hold\n");
    CHECK(becomes([first] { return !first->held_up(); }));
    for (const peer& c : clients)
        talk(c);
    s.drain();
    s.drain();
    finish(runner);
}

TEST_CASE("a handler that holds its worker is reported, with its stack, and so is its end") {
    const combination how = each_combination();
    CAPTURE(how);
    holding held;
    std::mutex lock;
    std::vector<stall_report> reports;
    context_options o = lending(how);
    o.stall_limit = 100ms;
    o.on_stall = [&](const stall_report& r) {
        const std::lock_guard guard(lock);
        if (r.routine.name == "wired")
            reports.push_back(r);
    };
    const auto count = [&] {
        const std::lock_guard guard(lock);
        return reports.size();
    };
    context ctx(std::move(o));
    const wired holder = wire(ctx, answering(&held), ctx.workers().worker_at(1));
    holder.other.send("hold\n");
    held.begun.acquire();
    CHECK(becomes([&] { return count() == 1; }));
    held.may_end.release();
    CHECK(becomes([&] { return count() == 2; }));
    const std::lock_guard guard(lock);
    const stall_report& begin = reports[0];
    CHECK_FALSE(begin.ended);
    CHECK(begin.worker == 1);
    CHECK(begin.length >= 100ms);
    CHECK(begin.routine.what == "stream::fill");
    CHECK(to_string(begin).find("hold_on") != std::string::npos);
    CHECK(reports[1].ended);
    CHECK(reports[1].routine.id == begin.routine.id);
    CHECK(reports[1].length >= begin.length);
}
