// Workers that come and go while connections are served.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/sleep.hpp>
#include <rota/worker.hpp>

#include "support.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;
using rota::task;

namespace {

constexpr std::size_t workers_max = 4;
constexpr int turns = 12;

void talk(const peer& p, std::string_view words) {
    p.send(words);
    REQUIRE(p.receive_exactly(words.size()) == words);
}

void hang_up(const wired& w) {
    w.other.shutdown_write();
    CHECK(w.other.receive_all().empty());
    finish(w.routine);
}

/// Every worker has slept once, and so has a ring of this thread's.
void let_every_worker_sleep(context& ctx, std::size_t count) {
    constexpr auto nap = []() -> task<void> { co_await rota::sleep_for(1ms); };
    std::vector<rota::routine_ptr> all;
    for (std::size_t i = 0; i < count; ++i)
        all.push_back(
            ctx.workers().spawn(nap(), {.name = "nap", .on = ctx.workers().worker_at(i)}));
    for (const rota::routine_ptr& r : all)
        finish(r);
}

/// One connection on each worker, which thereby has buffers with its ring.
void use_every_worker(context& ctx, std::size_t count) {
    std::vector<wired> all;
    for (std::size_t i = 0; i < count; ++i)
        all.push_back(wire(ctx, echo, ctx.workers().worker_at(i)));
    for (const wired& w : all)
        talk(w.other, "hello");
    for (const wired& w : all)
        hang_up(w);
}

/// Talks over connections that come and go, and over one that stays, until it is told to stop.
class load {
public:
    explicit load(context& ctx) : stays_(wire(ctx, echo)), thread_([this, &ctx] { run(ctx); }) {}
    ~load() { thread_.join(); }
    void end() {
        ends_ = true;
        thread_.join();
        thread_ = std::thread([] {});
        CHECK(failed_.empty());
        hang_up(stays_);
    }

private:
    void run(context& ctx) {
        try {
            while (!ends_) {
                const wired passing = wire(ctx, echo);
                for (const wired* w : {&passing, &stays_}) {
                    w->other.send("again");
                    if (w->other.receive_exactly(5) != "again")
                        failed_ = "an echo ends too early";
                }
                passing.other.shutdown_write();
                if (!passing.other.receive_all().empty())
                    failed_ = "an echo is too long";
                finish(passing.routine);
            }
        } catch (const std::exception& e) {
            failed_ = e.what();
        }
    }

    const wired stays_;
    std::atomic<bool> ends_{false};
    std::string failed_;
    std::thread thread_;
};

} // namespace

TEST_CASE("workers that grow and shrink in turns serve every connection, under load") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how, 1));
    load busy(ctx);
    for (int turn = 0; turn < turns; ++turn) {
        CAPTURE(turn);
        const std::size_t count = turn % 4 == 3 ? 2 : workers_max;
        ctx.workers().set_workers(count);
        // Now and then a ring goes without having known the buffers: the next one may have its
        // place in memory, and that of the one before.
        let_every_worker_sleep(ctx, count);
        if (turn % 3 != 1)
            use_every_worker(ctx, count);
        ctx.workers().set_workers(1);
        // Restarted, not taken back: each has to end before the next turn.
        for (std::size_t i = 1; i < count; ++i)
            REQUIRE(becomes([&] { return ctx.workers().worker_at(i)->ended(); }));
    }
    busy.end();
}

TEST_CASE("a worker that drains is taken back with its connections") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how, workers_max));
    std::vector<wired> all;
    for (std::size_t i = 0; i < workers_max; ++i)
        all.push_back(wire(ctx, echo, ctx.workers().worker_at(i)));
    for (int turn = 0; turn < turns; ++turn) {
        ctx.workers().set_workers(1 + static_cast<std::size_t>(turn) % workers_max);
        for (const wired& w : all)
            talk(w.other, "still there");
    }
    for (const wired& w : all)
        hang_up(w);
}
