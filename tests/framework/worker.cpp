#include <rota/worker.hpp>

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/inline_scheduler.hpp>

using namespace std::chrono_literals;

namespace {

/// Runs a function when its turn comes.
struct job : rota::runnable {
    explicit job(std::function<void()> f) : runnable(&job::run), what(std::move(f)) {}
    static void run(rota::runnable& self) noexcept { static_cast<job&>(self).what(); }
    std::function<void()> what;
};

/// A parking that does not sleep: each wait does what the script says others do meanwhile, on the
/// same thread, and returns whether a permit is there then.
class scripted final : public rota::parking {
public:
    bool wait_until(clock::time_point deadline) override {
        deadlines.push_back(deadline);
        if (!script.empty()) {
            const auto next = std::move(script.front());
            script.pop_front();
            next();
        }
        return std::exchange(permit, false);
    }
    void notify() noexcept override {
        permit = true;
        ++notified;
    }

    std::deque<std::function<void()>> script;
    std::vector<clock::time_point> deadlines;
    bool permit = false;
    int notified = 0;
};

/// A worker whose thread is the test's, and what it sleeps on.
struct driven {
    driven() {
        auto sleeper = std::make_unique<scripted>();
        parking = sleeper.get();
        w = std::make_unique<rota::worker>(3, time, std::move(sleeper));
    }
    /// Runs it until it ends; while it sleeps, the steps happen in turn.
    void run(std::deque<std::function<void()>> steps) {
        parking->script = std::move(steps);
        w->run();
    }
    rota::virtual_time time;
    scripted* parking = nullptr;
    std::unique_ptr<rota::worker> w;
};

struct noter final : rota::completion_handler {
    explicit noter(std::string* out) : log(out) {}
    void complete(std::int32_t result, std::uint32_t) noexcept override {
        *log += "c" + std::to_string(result);
    }
    std::string* log;
};

struct tick : rota::timer {
    explicit tick(std::function<void()> f) : timer(&tick::fire), what(std::move(f)) {}
    static void fire(rota::timer& self) noexcept { static_cast<tick&>(self).what(); }
    std::function<void()> what;
};

} // namespace

TEST_CASE("a turn: completions, timers, what was posted, then so many steps") {
    driven d;
    std::string log;
    job a([&] { log += "a"; });
    job b([&] { log += "b"; });
    tick t([&] { log += "t"; });
    noter c(&log);
    rota::worker* const before = d.w->hold();
    REQUIRE(rota::worker::current() == d.w.get());
    d.w->timers().arm(t, d.time.now());
    d.w->post(a);
    rota::worker::restore(before);
    d.w->post(b); // from elsewhere: by the inbox
    const rota::completion one{.handler = &c, .result = 1, .flags = 0};
    d.w->deliver(&one, 1);
    REQUIRE(d.w->load().runnable == 3);
    REQUIRE(d.w->pending_completions() == 1);
    d.w->hold();
    REQUIRE(d.w->turn(1) == 1);
    REQUIRE(log == "c1ta");
    REQUIRE(d.w->has_work());
    REQUIRE(d.w->load().runnable == 1);
    REQUIRE(d.w->turn(64) == 1);
    REQUIRE(log == "c1tab");
    REQUIRE_FALSE(d.w->has_work());
    REQUIRE(d.w->turn(64) == 0);
    REQUIRE(d.w->load().runnable == 0);
    rota::worker::restore(before);
    REQUIRE(d.w->index() == 3);
}

TEST_CASE("the thread sleeps, is woken once for each sleep, and ends when asked") {
    driven d;
    std::string log;
    job a([&] { log += "a"; });
    job b([&] {
        log += "b";
        d.w->stop();
    });
    d.run({[&] {
               REQUIRE(d.w->state() == rota::baton::parked);
               REQUIRE(rota::worker::current() == nullptr);
               d.w->post(a);
               REQUIRE(d.w->state() == rota::baton::running);
               d.w->notify(); // awake already
           },
           [&] { d.w->post(b); }});
    REQUIRE(log == "ab");
    REQUIRE(d.parking->notified == 2);
    REQUIRE(d.w->ended());
    REQUIRE_FALSE(d.parking->permit);
}

TEST_CASE("the thread sleeps until the next timer, and takes the baton back by itself") {
    driven d;
    int fired = 0;
    tick t([&] {
        ++fired;
        d.w->stop();
    });
    job arm([&] { d.w->timers().arm(t, d.w->now() + 5ms); });
    d.w->post(arm);
    const auto due = d.time.now() + 5ms;
    d.run({[&] { d.time.move_to(due); }});
    REQUIRE(fired == 1);
    REQUIRE(d.parking->deadlines.at(0) == due);
    REQUIRE(d.parking->notified == 0);
}

TEST_CASE("the read side runs a parked worker's work, and gives the baton back") {
    driven d;
    std::string log;
    noter c(&log);
    job a([&] { log += d.w->is_current() ? "a" : "?"; });
    const rota::completion one{.handler = &c, .result = 7, .flags = 0};
    REQUIRE_FALSE(d.w->try_lend()); // it has not slept yet
    d.run({[&] {
               d.w->post(a);
               REQUIRE_FALSE(d.w->try_lend()); // awake
           },
           [&] {
               d.w->deliver(&one, 1);
               REQUIRE(d.w->try_lend());
               REQUIRE(d.w->state() == rota::baton::lent);
               REQUIRE_FALSE(d.w->try_lend());
               d.w->post(a); // the holder looks again: no wake-up
               d.w->run_lent(1s);
               REQUIRE(d.w->state() == rota::baton::parked);
               REQUIRE(rota::worker::current() == nullptr);
               d.w->stop();
           }});
    REQUIRE(log == "ac7a");
    REQUIRE(d.parking->notified == 2); // post, stop
}

TEST_CASE("what is too long for the read side goes on in the worker's own thread") {
    driven d;
    std::string log;
    job again([&] {
        log += "x";
        if (log.size() < 4) {
            d.time.move_to(d.time.now() + 1ms);
            d.w->post(again);
        } else {
            d.w->stop();
        }
    });
    d.run({[&] {
        REQUIRE(d.w->try_lend());
        const std::size_t before = log.size();
        d.w->hold();
        d.w->post(again);
        rota::worker::restore(nullptr);
        d.w->run_lent(1us);
        REQUIRE(log.size() > before);
        REQUIRE(d.w->state() == rota::baton::running); // the thread's
        REQUIRE(d.parking->permit);
    }});
    REQUIRE(log == "xxxx");
}

TEST_CASE("a stop that comes during a lent run ends the thread") {
    driven d;
    job last([&] {
        d.w->remove_place();
        d.w->stop();
    });
    REQUIRE(d.w->add_place());
    d.run({[&] {
        REQUIRE(d.w->try_lend());
        d.w->post(last);
        d.w->run_lent(1s);
        REQUIRE(d.parking->permit); // the thread is told
    }});
    REQUIRE(d.w->ended());
}

TEST_CASE("a timer armed in a lent run is told to the lender, if the thread does not know it") {
    driven d;
    tick early([] {});
    tick late([] {});
    const auto now = d.time.now();
    REQUIRE(d.w->lent_deadline() == rota::time_source::time_point::max());
    job arm_late([&] { d.w->timers().arm(late, now + 50ms); });
    d.w->post(arm_late);
    d.run({[&] {
               REQUIRE(d.w->try_lend());
               d.w->run_lent(1s);
               REQUIRE(d.w->lent_deadline() == rota::time_source::time_point::max()); // known
               REQUIRE(d.w->try_lend());
               d.w->timers().arm(early, now + 10ms);
               d.w->run_lent(1s);
               REQUIRE(d.w->lent_deadline() == now + 10ms);
               d.time.move_to(now + 10ms);
               REQUIRE(d.w->try_lend());
               d.w->run_lent(1s);
               REQUIRE(d.w->lent_deadline() == rota::time_source::time_point::max());
               REQUIRE_FALSE(early.armed());
           },
           [&] {
               d.time.move_to(now + 50ms); // what the thread waits for
           },
           [&] { d.w->stop(); }});
    REQUIRE(d.parking->deadlines.at(0) == now + 50ms);
    REQUIRE_FALSE(late.armed());
}

TEST_CASE("the hook comes after turns, and work that it makes is done before anyone sleeps") {
    struct hook final : rota::turn_hook {
        void after_turn(bool lent) noexcept override {
            log += lent ? "L" : "T";
            if (make != nullptr) {
                std::exchange(target, nullptr)->post(*std::exchange(make, nullptr));
            }
        }
        std::string log;
        rota::worker* target = nullptr;
        job* make = nullptr;
    } h;
    driven d;
    job made([&] { h.log += "x"; });
    d.w->set_turn_hook(&h);
    d.run({[&] {
               h.log += "|";
               h.target = d.w.get();
               h.make = &made;
               REQUIRE(d.w->try_lend());
               d.w->run_lent(1s);
               h.log += "|";
               h.target = d.w.get();
               h.make = &made;
               d.parking->permit = true; // a turn of the thread
               d.w->notify();
           },
           [&] { d.w->stop(); }});
    REQUIRE(h.log == "T|LxL|TxTT");
}

TEST_CASE("places: a worker does not end before the last is given back, and gives none then") {
    driven d;
    REQUIRE(d.w->add_place());
    REQUIRE(d.w->add_place());
    REQUIRE(d.w->places() == 2);
    d.run({[&] { d.w->stop(); },
           [&] {
               REQUIRE_FALSE(d.w->ended());
               d.w->remove_place();
               REQUIRE_FALSE(d.parking->permit);
               d.w->remove_place(); // by another thread: the last wakes it
               REQUIRE(d.parking->permit);
           }});
    REQUIRE(d.w->ended());
    REQUIRE_FALSE(d.w->add_place());
    REQUIRE(d.w->routines() == 0);
    REQUIRE_FALSE(d.w->resume()); // it has returned: has to be run again
    REQUIRE(d.w->add_place());
    d.run({[&] { d.w->stop(); },
           [&] {
               REQUIRE(d.w->resume()); // still there
               REQUIRE_FALSE(d.w->ended());
               d.w->remove_place();
               d.w->stop();
           }});
    REQUIRE(d.w->ended());
}

TEST_CASE("the cost of an event follows what has been measured") {
    driven d;
    std::string log;
    noter c(&log);
    const rota::completion one{.handler = &c, .result = 1, .flags = 0};
    const auto start = d.w->cost_per_event();
    d.w->hold();
    job slow([&] { d.time.move_to(d.time.now() + 1ms); });
    for (int i = 0; i < 200; ++i) {
        d.w->deliver(&one, 1);
        d.w->post(slow);
        d.w->turn(64);
    }
    const auto high = d.w->cost_per_event();
    REQUIRE(high > start);
    REQUIRE(high > 900us);
    REQUIRE(high <= 1ms);
    for (int i = 0; i < 500; ++i) {
        d.w->deliver(&one, 1);
        d.w->turn(64);
    }
    REQUIRE(d.w->cost_per_event() < 1us);
    rota::worker::restore(nullptr);
}

TEST_CASE("producers, a lender and the worker's thread: everything runs, by one at a time") {
    rota::worker w(0, rota::time_source::steady(), std::make_unique<rota::parker>());
    std::atomic<int> inside = 0;
    std::atomic<bool> alone = true;
    std::atomic<int> ran = 0;
    struct counting : rota::runnable {
        counting() : runnable(&counting::run) {}
        static void run(rota::runnable& self) noexcept {
            auto& me = static_cast<counting&>(self);
            if (++*me.inside != 1 || rota::worker::current() == nullptr) {
                *me.alone = false;
            }
            --*me.inside;
            ++*me.ran;
            me.queued.store(false, std::memory_order_release);
        }
        std::atomic<int>* inside = nullptr;
        std::atomic<bool>* alone = nullptr;
        std::atomic<int>* ran = nullptr;
        std::atomic<bool> queued = false;
    };
    constexpr int each = 20'000;
    constexpr std::size_t producers = 2;
    std::vector<counting> items(producers);
    REQUIRE(w.add_place());
    std::jthread own([&] { w.run(); });
    std::atomic<bool> lending = true;
    std::jthread lender([&] {
        while (lending) {
            if (w.try_lend()) {
                w.run_lent(20us);
            }
            std::this_thread::yield();
        }
    });
    std::vector<std::jthread> threads;
    for (counting& item : items) {
        item.inside = &inside;
        item.alone = &alone;
        item.ran = &ran;
        threads.emplace_back([&w, &item] {
            for (int i = 0; i < each; ++i) {
                while (item.queued.exchange(true, std::memory_order_acquire)) {
                    std::this_thread::yield();
                }
                w.post(item);
            }
        });
    }
    threads.clear();
    while (ran < each * static_cast<int>(producers)) {
        std::this_thread::yield(); // hangs if a wake-up is lost
    }
    w.remove_place();
    w.stop();
    own.join();
    lending = false;
    lender.join();
    REQUIRE(alone);
    REQUIRE(ran == each * static_cast<int>(producers));
}

TEST_CASE("a lent run may be without an end") {
    driven d;
    bool spent = false;
    job many([&] {
        for (int i = 0; i < 100; ++i)
            spent = d.w->spend() || spent;
    });
    d.run({[&] {
        REQUIRE(d.w->try_lend());
        d.w->post(many);
        d.w->run_lent(std::chrono::nanoseconds::max());
        REQUIRE(d.w->state() == rota::baton::parked);
        d.w->stop();
    }});
    REQUIRE_FALSE(spent);
}
