#include "read_side.hpp"

#include <atomic>
#include <cerrno>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/detail/parker.hpp>
#include <rota/worker.hpp>

#include "fake_backends.hpp"
#include "read_side_set_up.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;

namespace {

constexpr std::uint32_t seen_flags = completion_flags::more | completion_flags::cancel_seen;

/// A read side over a script, and a worker that the test drives.
struct set_up {
    read_script script;
    read_side side{[this] { return std::make_unique<fake_read_backend>(script); }, 30us};
    rota::worker home{0, rota::time_source::steady(), std::make_unique<rota::parker>()};

    void turn() {
        side.turn(never, false);
        rota::worker* const before = home.hold();
        home.turn(100);
        rota::worker::restore(before);
    }
};

/// Keeps a worker's thread busy until it is told to stop.
struct busy : rota::runnable {
    busy() : runnable(&run) {}
    static void run(runnable& self) noexcept {
        busy& b = static_cast<busy&>(self);
        b.entered = true;
        b.entered.notify_all();
        b.release.wait(false);
    }
    std::atomic<bool> entered{false};
    std::atomic<bool> release{false};
};

} // namespace

TEST_CASE("an arm is handed over in the next turn, its completions reach the handler in order") {
    set_up s;
    test_op op(s.home);
    s.side.request(op, operation::want_arm);
    CHECK(s.script.calls.empty());
    s.turn();
    REQUIRE(s.script.calls == std::vector<std::pair<char, operation*>>{{'a', &op}});
    CHECK(op.armed);
    s.script.complete(op, 1, completion_flags::more);
    s.script.complete(op, 2, completion_flags::more);
    s.script.complete(op, 3);
    s.turn();
    CHECK(op.got == results{{1, completion_flags::more}, {2, completion_flags::more}, {3, 0}});
    CHECK(!op.armed);
}

TEST_CASE("a cancel of what is armed goes to the backend and is answered") {
    set_up s;
    test_op op(s.home);
    s.side.request(op, operation::want_arm);
    s.turn();
    s.side.request(op, operation::want_cancel);
    s.side.request(op, operation::want_cancel); // merges with the first
    s.turn();
    CHECK(s.script.calls == std::vector<std::pair<char, operation*>>{{'a', &op}, {'c', &op}});
    CHECK(op.got == results{{0, seen_flags}});
    s.script.complete(op, -ECANCELED);
    s.turn();
    CHECK(op.got == results{{0, seen_flags}, {-ECANCELED, 0}});
}

TEST_CASE("an arm and a cancel that meet end the operation without the backend") {
    set_up s;
    test_op op(s.home);
    s.side.request(op, operation::want_arm);
    s.side.request(op, operation::want_cancel);
    s.turn();
    CHECK(s.script.calls.empty());
    CHECK(op.got == results{{-ECANCELED, 0}, {0, seen_flags}});
    // It may be armed again.
    s.side.request(op, operation::want_arm);
    s.turn();
    CHECK(s.script.calls.size() == 1);
}

TEST_CASE("a cancel of what has ended is answered and does nothing else") {
    set_up s;
    test_op op(s.home);
    s.side.request(op, operation::want_arm);
    s.turn();
    s.script.complete(op, 7);
    s.turn();
    s.side.request(op, operation::want_cancel);
    s.turn();
    CHECK(s.script.calls.size() == 1);
    CHECK(op.got == results{{7, 0}, {0, seen_flags}});
}

TEST_CASE("an arm that the backend refuses ends with the error") {
    set_up s;
    test_op op(s.home);
    s.script.arm_errors = {ENOMEM};
    s.side.request(op, operation::want_arm);
    s.turn();
    CHECK(op.got == results{{-ENOMEM, 0}});
    CHECK(!op.armed);
}

TEST_CASE("a turn with completions of its own does not wait for the kernel's") {
    set_up s;
    test_op op(s.home);
    s.side.request(op, operation::want_arm);
    s.side.request(op, operation::want_cancel);
    s.turn();
    CHECK(s.script.last_until < std::chrono::steady_clock::now());
}

TEST_CASE("a turn fetches everything that is there, however much") {
    set_up s;
    test_op op(s.home);
    s.side.request(op, operation::want_arm);
    s.turn();
    for (int i = 0; i < 1000; ++i)
        s.script.complete(op, i, completion_flags::more);
    CHECK(s.side.turn(never, false) == 1000);
    CHECK(s.home.pending_completions() == 1000);
    s.turn();
    REQUIRE(op.got.size() == 1000);
    for (int i = 0; i < 1000; ++i)
        REQUIRE(op.got[static_cast<std::size_t>(i)].first == i);
}

TEST_CASE("completions go to the workers that own the operations") {
    read_script script;
    read_side side([&script] { return std::make_unique<fake_read_backend>(script); }, 30us);
    std::vector<std::unique_ptr<rota::worker>> workers;
    std::vector<std::unique_ptr<test_op>> ops;
    // The highest index last and first, so that the batches grow while some are filled.
    for (const std::size_t index : {2, 0, 9, 5, 17, 1}) {
        workers.push_back(std::make_unique<rota::worker>(index, rota::time_source::steady(),
                                                         std::make_unique<rota::parker>()));
        ops.push_back(std::make_unique<test_op>(*workers.back()));
    }
    for (auto& op : ops)
        side.request(*op, operation::want_arm);
    side.turn(never, false);
    for (int round = 0; round < 3; ++round) {
        for (std::size_t i = 0; i < ops.size(); ++i)
            script.complete(*ops[i], static_cast<std::int32_t>(i), completion_flags::more);
    }
    side.turn(never, false);
    for (std::size_t i = 0; i < ops.size(); ++i) {
        workers[i]->hold();
        workers[i]->turn(1);
        const std::pair<std::int32_t, std::uint32_t> each{i, completion_flags::more};
        CHECK(ops[i]->got == results{each, each, each});
    }
    rota::worker::restore(nullptr);
}

TEST_CASE("a group of buffers is made known once, before the first receive") {
    set_up s;
    buffer_group group(0, 2, 64);
    test_op a(s.home, op_kind::receive);
    test_op b(s.home, op_kind::receive);
    a.group = b.group = &group;
    s.side.request(a, operation::want_arm);
    s.side.request(b, operation::want_arm);
    s.turn();
    CHECK(s.script.attached == std::vector<const buffer_group*>{&group});
}

TEST_CASE("a wake-up before the wait is not lost") {
    // Whoever drives it looks at a flag, then begins a turn; the flag may be set in between.
    set_up s;
    s.side.wake();
    s.side.turn(never, false);
    CHECK(s.script.last_until < std::chrono::steady_clock::now());
    s.side.turn(never, false);
    CHECK(s.script.last_until == never);
}

TEST_CASE("requests wake the driver only while it waits") {
    read_script script;
    script.block = true;
    read_side side([&script] { return std::make_unique<fake_read_backend>(script); }, 30us);
    rota::worker home(0, rota::time_source::steady(), std::make_unique<rota::parker>());
    test_op op(home);
    side.request(op, operation::want_arm);
    CHECK(script.wakes == 0); // nobody waits yet
    std::atomic<int> turns{0};
    std::thread driver([&] {
        while (turns < 2) {
            side.turn(never, false);
            ++turns;
        }
    });
    script.await_waiting(); // the arm was seen
    {
        const std::lock_guard guard(script.lock);
        CHECK(script.calls.size() == 1);
    }
    side.request(op, operation::want_cancel);
    driver.join(); // the turn that was woken, and the one with the cancel
    CHECK(script.wakes == 1);
    CHECK(script.calls.size() == 2);
}

TEST_CASE("requests from many threads all arrive") {
    read_script script;
    script.block = true;
    read_side side([&script] { return std::make_unique<fake_read_backend>(script); }, 30us);
    rota::worker home(0, rota::time_source::steady(), std::make_unique<rota::parker>());
    constexpr int per_thread = 500;
    std::vector<std::unique_ptr<test_op>> ops;
    for (int i = 0; i < 3 * per_thread; ++i)
        ops.push_back(std::make_unique<test_op>(home));
    std::atomic<bool> stop{false};
    std::thread driver([&] {
        while (!stop)
            side.turn(never, false);
        side.turn({}, false);
    });
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < 3; ++t) {
        threads.emplace_back([&, t] {
            for (std::size_t i = 0; i < per_thread; ++i)
                side.request(*ops[t * per_thread + i], operation::want_arm);
        });
    }
    for (auto& t : threads)
        t.join();
    stop = true;
    side.wake();
    driver.join();
    CHECK(script.calls.size() == ops.size());
}

TEST_CASE("light work of an idle worker runs on the driver's thread") {
    read_script script;
    read_side side([&script] { return std::make_unique<fake_read_backend>(script); }, 1ms);
    threaded_worker w;
    test_op op(w.home);
    std::thread::id ran_on;
    op.then = [&ran_on] { ran_on = std::this_thread::get_id(); };
    side.request(op, operation::want_arm);
    side.turn({}, true);
    script.complete(op, 1);
    side.turn(never, true);
    CHECK(ran_on == std::this_thread::get_id());
    CHECK(w.home.state() == rota::baton::parked);
}

TEST_CASE("with no budget the worker's own thread is woken") {
    read_script script;
    read_side side([&script] { return std::make_unique<fake_read_backend>(script); }, 0ns);
    threaded_worker w;
    test_op op(w.home);
    std::atomic<bool> done{false};
    std::thread::id ran_on;
    op.then = [&] {
        ran_on = std::this_thread::get_id();
        done = true;
        done.notify_all();
    };
    side.request(op, operation::want_arm);
    side.turn({}, true);
    script.complete(op, 1);
    side.turn(never, true);
    done.wait(false);
    CHECK(ran_on == w.thread.get_id());
}

TEST_CASE("timers that were armed in a lent run fire although the worker's thread sleeps on") {
    read_script script;
    read_side side([&script] { return std::make_unique<fake_read_backend>(script); }, 1ms);
    threaded_worker w;
    struct firing : rota::timer {
        firing() : timer(&fire) {}
        static void fire(timer& t) noexcept {
            static_cast<firing&>(t).on = std::this_thread::get_id();
        }
        std::thread::id on;
    } timer;
    test_op op(w.home);
    op.then = [&] { w.home.timers().arm(timer, w.home.now() + 5ms); };
    side.request(op, operation::want_arm);
    side.turn({}, true);
    script.complete(op, 1);
    side.turn(never, true);
    side.turn(never, true);
    CHECK(script.last_until < never); // it will look again when the timer is due
    CHECK(timer.on == std::thread::id{});
    while (timer.on == std::thread::id{})
        side.turn(never, true);
    CHECK(timer.on == std::this_thread::get_id());
    side.turn(never, true);
    CHECK(script.last_until == never);
}

TEST_CASE("the driver does not spin on a timer of a worker that is awake") {
    read_script script;
    read_side side([&script] { return std::make_unique<fake_read_backend>(script); }, 1ms);
    threaded_worker w;
    struct firing : rota::timer {
        firing() : timer(&fire) {}
        static void fire(timer& t) noexcept {
            static_cast<firing&>(t).fired = true;
            static_cast<firing&>(t).fired.notify_all();
        }
        std::atomic<bool> fired{false};
    } timer;
    test_op op(w.home);
    std::chrono::steady_clock::time_point due;
    op.then = [&] { w.home.timers().arm(timer, due = w.home.now() + 50ms); };
    side.request(op, operation::want_arm);
    side.turn({}, true);
    script.complete(op, 1);
    side.turn(never, true);

    busy work;
    w.home.post(work);
    work.entered.wait(false);
    while (std::chrono::steady_clock::now() < due)
        std::this_thread::yield();
    // The timer is overdue, but it is now the worker's thread that will see to it.
    side.turn(never, true);
    CHECK(script.last_until == never);
    work.release = true;
    work.release.notify_all();
    timer.fired.wait(false);
    CHECK(timer.fired);
}
