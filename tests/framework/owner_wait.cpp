#include <rota/owner_wait.hpp>

#include <string>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/errors.hpp>
#include <rota/inline_scheduler.hpp>
#include <rota/runtime.hpp>

namespace {

/// What a baton holder owns: one waiter at a time, and how it gives up a wait.
struct source {
    class wait;
    wait* waiting = nullptr;
    bool slow_withdraw = false;
    int withdrawals = 0;
    bool ready = false;
};

class source::wait final : public rota::owner_wait {
public:
    explicit wait(source* s) : owner_wait("source"), source_(s) {}
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> self) {
        return owner_wait::wait(self, [this] {
            if (source_->ready) {
                return false;
            }
            source_->waiting = this;
            return true;
        });
    }
    void await_resume() {
        source_->waiting = nullptr;
        finish();
    }
    using owner_wait::complete;
    using owner_wait::complete_here;
    using owner_wait::withdrawn;

private:
    bool withdraw() noexcept override {
        ++source_->withdrawals;
        if (source_->slow_withdraw)
            return false;
        source_->waiting = nullptr; // undone: nobody completes it any more
        return true;
    }
    source* source_;
};

rota::task<void> wait_for(source* s, std::string* out) {
    try {
        source::wait wait(s);
        co_await wait;
        out->push_back('v');
    } catch (const rota::operation_cancelled&) {
        out->push_back('c');
    }
}

} // namespace

TEST_CASE("a wait of the baton holder completes, or does not start") {
    rota::inline_scheduler scheduler;
    source s;
    std::string out;
    (void)scheduler.spawn(wait_for(&s, &out));
    REQUIRE(scheduler.run() == rota::run_status::some_routines_blocked);
    REQUIRE(scheduler.blocked()[0].what == "source");
    s.waiting->complete();
    REQUIRE(scheduler.run() == rota::run_status::no_routines);
    REQUIRE(out == "v");

    s.ready = true;
    scheduler.run_task(wait_for(&s, &out));
    REQUIRE(out == "vv");
}

TEST_CASE("a stop request withdraws the wait under the baton") {
    rota::inline_scheduler scheduler;
    source s;
    std::string out;
    const auto r = scheduler.spawn(wait_for(&s, &out));
    scheduler.run();
    r->request_stop();
    REQUIRE(s.withdrawals == 0); // the callback has only posted
    scheduler.run();
    REQUIRE(s.withdrawals == 1);
    REQUIRE(out == "c");
}

TEST_CASE("what comes between the stop request and the withdrawal is kept") {
    rota::inline_scheduler scheduler;
    source s;
    std::string out;
    const auto r = scheduler.spawn(wait_for(&s, &out));
    scheduler.run();
    r->request_stop();
    s.waiting->complete();
    scheduler.run();
    REQUIRE(s.withdrawals == 0);
    REQUIRE(out == "v");
}

TEST_CASE("a stop request after the completion has no effect on the wait") {
    rota::inline_scheduler scheduler;
    source s;
    std::string out;
    const auto r = scheduler.spawn(wait_for(&s, &out));
    scheduler.run();
    s.waiting->complete();
    r->request_stop();
    scheduler.run();
    REQUIRE(s.withdrawals == 0);
    REQUIRE(out == "v");
}

TEST_CASE("a withdrawal that takes time ends by withdrawn, or by a late completion") {
    for (const bool late_value : {false, true}) {
        rota::inline_scheduler scheduler;
        source s{.slow_withdraw = true};
        std::string out;
        const auto r = scheduler.spawn(wait_for(&s, &out));
        scheduler.run();
        r->request_stop();
        REQUIRE(scheduler.run() == rota::run_status::some_routines_blocked);
        REQUIRE(s.withdrawals == 1);
        if (late_value) {
            s.waiting->complete();
        } else {
            s.waiting->withdrawn();
        }
        REQUIRE(scheduler.run() == rota::run_status::no_routines);
        REQUIRE(out == (late_value ? "v" : "c"));
    }
}

TEST_CASE("completions under the baton race with stop requests of other threads") {
    rota::runtime rt({.workers = 1});
    rt.start();
    for (int round = 0; round < 500; ++round) {
        source s;
        std::string out;
        rota::worker& home = *rt.worker_at(0);
        const auto r = rt.spawn(wait_for(&s, &out));
        struct completer : rota::runnable {
            explicit completer(source* what) : runnable(&completer::run), target(what) {}
            static void run(rota::runnable& self) noexcept {
                source* const s = static_cast<completer&>(self).target;
                if (s->waiting != nullptr) {
                    s->waiting->complete();
                }
                static_cast<completer&>(self).done.store(true);
                static_cast<completer&>(self).done.notify_all();
            }
            source* target;
            std::atomic<bool> done = false;
        } complete(&s);
        std::jthread stopper([r] { r->request_stop(); });
        home.post(complete);
        r->wait_stopped();
        complete.done.wait(false);
        REQUIRE(out.size() == 1);
    }
}

TEST_CASE("a completion here runs the routine before it returns, unless it is being stopped") {
    for (const bool stopped : {false, true}) {
        rota::inline_scheduler scheduler;
        source s;
        std::string out;
        const auto r = scheduler.spawn(wait_for(&s, &out));
        scheduler.run();
        if (stopped)
            r->request_stop();
        s.waiting->complete_here();
        REQUIRE(out == (stopped ? "" : "v"));
        scheduler.run();
        REQUIRE(out == "v");
        REQUIRE(s.withdrawals == 0);
    }
}

TEST_CASE("a routine that is run within a step is what the worker is at") {
    rota::inline_scheduler scheduler;
    source s;
    std::string out;
    const auto r = scheduler.spawn(wait_for(&s, &out));
    scheduler.run();
    s.waiting->complete_here();
    REQUIRE(out == "v");
    REQUIRE(r->state() == rota::routine_state::stopped);
    REQUIRE(scheduler.home().read_pulse().step == r.get());
}
