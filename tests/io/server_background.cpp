// Work that is attached to a server: it is there as long as handlers are, and ends before run().

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include <rota/channel.hpp>
#include <rota/event.hpp>
#include <rota/every.hpp>
#include <rota/sleep.hpp>
#include <rota/under.hpp>

#include "support.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;
using rota::task;

namespace {

task<void> hold_until_end(connection client) {
    while (co_await client.fill())
        client.consume(client.buffered().size());
}

server_options anywhere() { return {.listen = {endpoint::ip("127.0.0.1", 0)}}; }

} // namespace

TEST_CASE("what is attached runs until the last handler has ended, and run() ends after it") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    rota::channel<std::string> jobs(10);
    std::string log; // of the worker routine, and read behind run()
    std::atomic<bool> works = false;
    const auto handler = [&jobs](connection client) -> task<void> {
        const connection held = std::move(client);
        rota::event never;
        try {
            co_await never.wait();
        } catch (const rota::operation_cancelled&) {
        }
        (void)jobs.try_push("of a handler at its end");
    };
    server_options options = anywhere();
    options.drain_timeout = 1ms;
    server s(ctx, handler, options);
    s.attach(
        [&, mark = std::string("a capture that is long enough to be allocated")]() -> task<void> {
            works = true;
            try {
                while (const auto job = co_await jobs.pop())
                    log += *job + "; ";
            } catch (const rota::operation_cancelled&) {
                log += mark;
            }
        },
        "works");
    const auto runner = ctx.workers().spawn(s.run(), {.name = "server"});
    const peer client(s.listening().front());
    REQUIRE(becomes([&] { return works && s.connections() == 1; }));
    s.drain();
    runner->wait_stopped();
    REQUIRE(runner->error() == nullptr);
    CHECK(log == "of a handler at its end; a capture that is long enough to be allocated");
    CHECK(becomes([&] { return ctx.workers().routine_count() == 0; }));
}

namespace {

/// Jobs that each take a while, until there are no more to come.
struct shop {
    rota::channel<int> jobs{10};
    std::atomic<int> begun{0};
    std::atomic<int> done{0};
    std::atomic<int> finished{0};

    static task<void> work_off(shop* s) {
        while (const auto job = co_await s->jobs.pop()) {
            ++s->begun;
            co_await rota::sleep_for(std::chrono::milliseconds(*job));
            ++s->done;
        }
        ++s->finished;
    }
    auto worker() {
        return [this] { return work_off(this); };
    }
    attach_options closing() {
        return {.name = "works", .finish = [this] { jobs.close(); }};
    }
};

} // namespace

TEST_CASE("what is told that no more comes finishes what has been accepted, within the drain") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    shop work;
    const auto handler = [&work](connection client) -> task<void> {
        while (const auto line = co_await client.read_line()) {
            if (!work.jobs.try_push(1))
                throw std::logic_error("it is closed while there are handlers");
        }
        for (int i = 0; i < 5; ++i)
            (void)work.jobs.try_push(1);
    };
    server s(ctx, handler, {.listen = {endpoint::ip("127.0.0.1", 0)}, .drain_timeout = 1h});
    s.attach(work.worker(), work.closing());
    s.attach(work.worker(), work.closing());
    bool stopped = false;
    s.attach([&]() -> task<void> { // beside one that is stopped at once
        rota::event never;
        try {
            co_await never.wait();
        } catch (const rota::operation_cancelled&) {
            stopped = true;
        }
    });
    const auto runner = ctx.workers().spawn(s.run(), {.name = "server"});
    const peer client(s.listening().front());
    client.send("one\n");
    REQUIRE(becomes([&] { return work.done == 1; }));
    s.drain();
    client.send("two\n");
    client.shutdown_write();
    finish(runner);
    CHECK(work.done == 7);
    CHECK(work.finished == 2);
    CHECK(stopped);
    CHECK(becomes([&] { return ctx.workers().routine_count() == 0; }));
}

TEST_CASE("what does not finish is cancelled: by the drain's timeout, a second drain, a stop") {
    const combination how = each_combination();
    CAPTURE(how);
    const int cut = GENERATE(0, 1, 2);
    CAPTURE(cut);
    context ctx(options_for(how));
    shop work;
    REQUIRE(work.jobs.try_push(3'600'000));
    server_options options = anywhere();
    options.drain_timeout = cut == 0 ? 20ms : std::chrono::milliseconds(1h);
    server s(ctx, hold_until_end, options);
    s.attach(work.worker(), work.closing());
    const auto runner = ctx.workers().spawn(s.run());
    REQUIRE(becomes([&] { return work.begun == 1; }));
    s.drain();
    if (cut != 0) {
        REQUIRE(becomes([&] { return work.jobs.closed(); }));
        CHECK(runner->state() != rota::routine_state::stopped);
        cut == 1 ? s.drain() : runner->request_stop();
    }
    finish(runner);
    CHECK(work.jobs.closed());
    CHECK(work.done == 0);
    CHECK(becomes([&] { return ctx.workers().routine_count() == 0; }));
}

TEST_CASE("one that cannot be told to finish is stopped, and that is reported") {
    const combination how = each_combination();
    CAPTURE(how);
    std::atomic<int> told{0};
    context_options o = options_for(how);
    o.on_error = [&](const rota::routine& r, std::exception_ptr) { told += r.name() == "works"; };
    context ctx(o);
    shop work;
    server s(ctx, hold_until_end, anywhere());
    attach_options options = work.closing();
    options.finish = [] { throw std::runtime_error("on purpose"); };
    s.attach(work.worker(), std::move(options));
    const auto runner = ctx.workers().spawn(s.run());
    REQUIRE_FALSE(s.listening().empty());
    s.drain();
    finish(runner);
    CHECK(told == 1);
    CHECK(work.finished == 0);
}

TEST_CASE("one that ends, or fails, does so alone; the others go on") {
    const combination how = each_combination();
    CAPTURE(how);
    std::atomic<int> told{0};
    context_options o = options_for(how);
    o.on_error = [&](const rota::routine& r, std::exception_ptr) { told += r.name() == "fails"; };
    context ctx(o);
    std::atomic<int> ticks{0};
    server s(ctx, hold_until_end, anywhere());
    s.attach([] { throw std::runtime_error("on purpose"); }, "fails");
    s.attach([] {});
    s.attach(rota::every(1ms, [&] {
        ++ticks;
        ticks.notify_all();
    }));
    const auto runner = ctx.workers().spawn(s.run());
    const peer client(s.listening().front());
    for (int seen = 0; seen < 3; seen = ticks)
        ticks.wait(seen);
    REQUIRE(becomes([&] { return told == 1; }));
    s.drain();
    s.drain();
    runner->wait_stopped();
    CHECK(runner->error() == nullptr);
    const int last = ticks;
    CHECK(becomes([&] { return ctx.workers().routine_count() == 0; })); // so none is called
    CHECK(ticks == last);
}

TEST_CASE("what shall stop with the beginning of the drain is attached under its token") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    rota::event never;
    std::atomic<bool> over{false};
    server s(ctx, hold_until_end, anywhere());
    s.attach([&]() -> task<void> {
        try {
            co_await rota::under(s.drain_token(), never.wait());
        } catch (const rota::operation_cancelled&) {
        }
        over = true;
    });
    const auto runner = ctx.workers().spawn(s.run());
    const peer client(s.listening().front());
    REQUIRE(becomes([&] { return s.connections() == 1; }));
    REQUIRE_FALSE(over);
    s.drain(); // waits for the client
    CHECK(becomes([&] { return over.load(); }));
    s.drain();
    runner->wait_stopped();
}

TEST_CASE(
    "nothing runs beside a server that cannot listen, and nothing is attached to one that has") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    const plain_listener taken;
    auto kept = std::make_shared<int>(0);
    const std::weak_ptr<int> there = kept;
    bool ran = false;
    server s(ctx, hold_until_end, {.listen = {taken.where()}});
    s.attach([&ran, mine = std::move(kept)] { ran = true; });
    CHECK_THROWS_AS(ctx.block_on(s.run()), std::system_error);
    CHECK_FALSE(ran);
    CHECK(there.expired());
    CHECK_THROWS_AS(s.attach([] {}), std::logic_error);
    server unused(ctx, hold_until_end, anywhere());
    unused.attach([] {});
}

TEST_CASE("a stop of the context ends what is attached, too") {
    const combination how = each_combination();
    CAPTURE(how);
    bool ended = false;
    {
        context ctx(options_for(how));
        server s(ctx, hold_until_end, anywhere());
        s.attach([&ended]() -> task<void> {
            rota::event never;
            try {
                co_await never.wait();
            } catch (const rota::operation_cancelled&) {
                ended = true;
            }
        });
        ctx.workers().spawn(s.run());
        REQUIRE_FALSE(s.listening().empty());
        ctx.stop();
    }
    CHECK(ended);
}

TEST_CASE("lambdas that capture are kept: of a routine, and of a handler as long as it runs") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    const std::string text = "captured by value, and long enough to be allocated";
    std::string seen;
    spawn(ctx, [text, &seen]() -> task<void> {
        co_await rota::sleep_for(1ms);
        seen = text;
    })->wait_stopped();
    CHECK(seen == text);
    server s(
        ctx,
        [text](connection client) -> task<void> {
            co_await rota::sleep_for(1ms);
            co_await client.write_line(text);
        },
        anywhere());
    const auto runner = ctx.workers().spawn(s.run());
    const peer client(s.listening().front());
    CHECK(client.receive_exactly(text.size()) == text);
    s.drain();
    runner->wait_stopped();
}
