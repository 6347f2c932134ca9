#include <rota/detail/budget.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/auto_event.hpp>
#include <rota/channel.hpp>
#include <rota/errors.hpp>
#include <rota/event.hpp>
#include <rota/inline_scheduler.hpp>
#include <rota/join.hpp>
#include <rota/mutex.hpp>
#include <rota/runtime.hpp>
#include <rota/semaphore.hpp>
#include <rota/sleep.hpp>
#include <rota/task_group.hpp>
#include <rota/yield.hpp>

using namespace std::chrono_literals;

namespace {

using rota::budget;

/// What one routine does over and over, each time by an await that need not wait.
enum class kind { channel, semaphore, mutex, event, auto_event, task, join, group };

struct ready_things {
    rota::channel<int> values{1};
    rota::semaphore permits{1};
    rota::mutex lock;
    rota::event set;
    rota::auto_event permit;
    rota::routine_ptr ended;

    rota::task<void> await_one(kind what) {
        switch (what) {
        case kind::channel:
            co_await values.push(1);
            (void)co_await values.pop();
            break;
        case kind::semaphore: {
            const auto one = co_await permits.acquire();
            break;
        }
        case kind::mutex: {
            const auto held = co_await lock.lock();
            break;
        }
        case kind::event:
            co_await set.wait();
            break;
        case kind::auto_event:
            permit.notify();
            co_await permit.wait();
            break;
        case kind::join:
            co_await rota::join(ended);
            break;
        case kind::group: {
            rota::task_group empty(co_await rota::current_context);
            co_await empty.join();
            break;
        }
        case kind::task:
            break; // this one
        }
    }
};

rota::task<void> take_all(ready_things* things, kind what, const bool* stop, int* rounds) {
    while (!*stop) {
        co_await things->await_one(what);
        ++*rounds;
    }
}

/// Takes its turn as often as it gets one, and stops the other in the end.
rota::task<void> neighbour(std::vector<int>* seen, const int* rounds, bool* stop) {
    for (int i = 0; i < 10; ++i) {
        seen->push_back(*rounds);
        co_await rota::yield();
    }
    *stop = true;
}

/// Sleeps by doing, at most once, what others do meanwhile.
class scripted final : public rota::parking {
public:
    explicit scripted(std::function<void()> others) : others_(std::move(others)) {}
    bool wait_until(clock::time_point) override {
        if (const auto once = std::exchange(others_, nullptr))
            once();
        return std::exchange(permit_, false);
    }
    void notify() noexcept override { permit_ = true; }

private:
    std::function<void()> others_;
    bool permit_ = false;
};

/// What a neighbour has seen of a routine's rounds, each so long, on a worker that another thread
/// runs until it has used `lent_max`, and how many there were by then.
struct lent_run {
    lent_run(std::chrono::microseconds each, std::chrono::microseconds lent_max)
        : length(each),
          w(1, time, std::make_unique<scripted>([this, lent_max] { lend(lent_max); })) {
        w.run();
    }
    void lend(std::chrono::microseconds lent_max) {
        REQUIRE(w.try_lend());
        (void)owner.spawn(take(this), {.on = &w});
        (void)owner.spawn(end_after(this), {.on = &w});
        w.run_lent(lent_max);
        while_lent = rounds;
        passed_on = !stop;
    }
    /// A loop over a channel that is always ready, with a little work each time.
    static rota::task<void> take(lent_run* self) {
        while (!self->stop && self->rounds < 100'000) {
            co_await self->things.await_one(kind::channel);
            self->time.move_to(self->time.now() + self->length);
            ++self->rounds;
        }
    }
    static rota::task<void> end_after(lent_run* self) {
        co_await neighbour(&self->seen, &self->rounds, &self->stop);
        self->w.stop();
    }

    const std::chrono::microseconds length;
    rota::virtual_time time;
    ready_things things;
    std::vector<int> seen;
    int rounds = 0;
    int while_lent = 0;
    bool passed_on = false;
    bool stop = false;
    rota::inline_scheduler owner;
    rota::worker w;
};

/// How many rounds, each so long, a routine that yields behind each of them has on its worker until
/// a sleeper, whose time is up within the first, has its turn.
int rounds_until_woken(std::chrono::microseconds each) {
    struct run {
        explicit run(std::chrono::microseconds length)
            : each(length), w(1, time, std::make_unique<scripted>([this] { w.stop(); })) {
            (void)owner.spawn(sleep(this), {.on = &w});
            (void)owner.spawn(work(this), {.on = &w});
            w.run();
        }
        static rota::task<void> work(run* self) {
            while (self->seen == 0 && self->rounds < 1'000) {
                self->time.move_to(self->time.now() + self->each);
                ++self->rounds;
                co_await rota::yield();
            }
        }
        static rota::task<void> sleep(run* self) {
            co_await rota::sleep_for(self->each / 2);
            self->seen = self->rounds;
        }

        const std::chrono::microseconds each;
        rota::virtual_time time;
        int rounds = 0;
        int seen = 0;
        rota::inline_scheduler owner;
        rota::worker w;
    };
    return run(each).seen;
}

} // namespace

TEST_CASE("a routine whose awaits are all satisfied at once lets others have their turns") {
    for (const kind what : {kind::channel, kind::semaphore, kind::mutex, kind::event,
                            kind::auto_event, kind::task, kind::join, kind::group}) {
        INFO("kind " << static_cast<int>(what));
        rota::inline_scheduler scheduler;
        ready_things things;
        things.set.set();
        things.ended = scheduler.spawn(rota::task<void>(things.await_one(kind::task)));
        scheduler.run();
        bool stop = false;
        int rounds = 0;
        std::vector<int> seen;
        (void)scheduler.spawn(take_all(&things, what, &stop, &rounds));
        (void)scheduler.spawn(neighbour(&seen, &rounds, &stop));
        REQUIRE(scheduler.run() == rota::run_status::no_routines);
        REQUIRE(seen.size() == 10);
        for (std::size_t i = 1; i < seen.size(); ++i) {
            REQUIRE(seen[i] > seen[i - 1]); // each has had its turn
            REQUIRE(seen[i] - seen[i - 1] <= budget::awaits_max);
        }
    }
}

TEST_CASE("what an await has got it keeps when it yields, even if a stop comes meanwhile") {
    rota::inline_scheduler scheduler;
    rota::channel<int> values(2000);
    for (int i = 0; i < 2000; ++i)
        REQUIRE(values.try_push(int(i)));
    struct taker {
        static rota::task<void> run(rota::channel<int>* from, std::vector<int>* out) {
            for (;;) {
                const std::optional<int> value = co_await from->pop();
                out->push_back(*value);
            }
        }
    };
    std::vector<int> out;
    const rota::routine_ptr r = scheduler.spawn(taker::run(&values, &out));
    REQUIRE(scheduler.run_one() == rota::run_status::ran_one); // it has yielded
    REQUIRE(out.size() < 2000);
    r->request_stop();
    REQUIRE(scheduler.run() == rota::run_status::no_routines);
    REQUIRE(out.size() + values.size() == 2000); // none is lost
    for (std::size_t i = 0; i < out.size(); ++i)
        REQUIRE(out[i] == static_cast<int>(i));
}

TEST_CASE("awaits that are costly are looked at one by one, cheap ones now and then") {
    budget b;
    const budget::time_point start{1h};
    budget::time_point now = start;
    const auto awaits_until_spent = [&](std::chrono::microseconds each) {
        b.begin_turn(now, budget::time_point::max());
        b.renew();
        int n = 0;
        for (;;) {
            now += each;
            ++n;
            if (b.count() && b.look(now))
                return n;
        }
    };
    (void)awaits_until_spent(100us); // learns that they are
    REQUIRE(awaits_until_spent(100us) == 3);
    REQUIRE(awaits_until_spent(1ms) == 2);
    (void)awaits_until_spent(0us);
    REQUIRE(awaits_until_spent(0us) == budget::awaits_max);
    REQUIRE(awaits_until_spent(1us) <= 250);
}

TEST_CASE("with the time at hand the budget ends by it, and it is renewed for each step") {
    budget b;
    budget::time_point now{1h};
    b.begin_turn(now, budget::time_point::max());
    for (int step = 0; step < 3; ++step) {
        b.renew();
        int n = 0;
        do {
            now += 50us;
            ++n;
        } while (!(b.count(now) && b.look(now)));
        REQUIRE(n == 5); // the first begins its time
        REQUIRE(b.spent());
    }
}

TEST_CASE("long steps that yield end the turn behind many short ones, too") {
    budget b;
    const budget::time_point start{1h};
    budget::time_point now = start;
    b.begin_turn(now, budget::time_point::max());
    const auto yields = [&](std::chrono::microseconds each, int most) {
        int n = 0;
        while (n < most && !b.spent()) {
            now += each;
            ++n;
            if (b.count_yield())
                b.look_at_turn(now, start);
        }
        return n;
    };
    REQUIRE(yields(1us, 40) == 40);
    REQUIRE(yields(1ms, 40) <= 4);
}

TEST_CASE("a turn that has to end ends the step") {
    budget b;
    const budget::time_point now{1h};
    b.begin_turn(now, now + 20us);
    b.renew();
    REQUIRE_FALSE((b.count(now + 10us) && b.look(now + 10us)));
    REQUIRE((b.count(now + 20us) && b.look(now + 20us)));
}

TEST_CASE("a routine that yields does not keep from its worker what has come meanwhile") {
    // When the sleeper is put into the queue the other is there again.
    REQUIRE(rounds_until_woken(10ms) == 2);
    REQUIRE(rounds_until_woken(4ms) == 2);
}

TEST_CASE("a turn ends with the step that has spent its budget, so that what has come is seen") {
    rota::inline_scheduler scheduler;
    ready_things things;
    things.set.set();
    bool stop = false;
    int rounds = 0;
    (void)scheduler.spawn(take_all(&things, kind::event, &stop, &rounds));
    std::vector<int> seen;
    (void)scheduler.spawn(neighbour(&seen, &rounds, &stop));
    rota::worker* const before = scheduler.home().hold();
    REQUIRE(scheduler.home().turn(64) == 1);
    REQUIRE(scheduler.home().turn(64) >= 1);
    rota::worker::restore(before);
    REQUIRE_FALSE(seen.empty());
    scheduler.run();
}

TEST_CASE("in a lent run, too, others have their turns beside a loop over what is ready") {
    const lent_run cheap(0us, 200us);
    REQUIRE_FALSE(cheap.passed_on);
    REQUIRE(cheap.seen.size() == 10);
    for (std::size_t i = 1; i < cheap.seen.size(); ++i)
        REQUIRE(cheap.seen[i] - cheap.seen[i - 1] <= budget::awaits_max);
}

TEST_CASE("a lent run ends in its time although what it runs is busy and always ready") {
    const lent_run busy(50us, 200us);
    REQUIRE(busy.passed_on); // the rest is for the worker's own thread
    REQUIRE(busy.while_lent * 3 <=
            16 + 2); // awaits until the first look at the clock, and then one
    REQUIRE(busy.seen.size() == 10);
    for (std::size_t i = 1; i < busy.seen.size(); ++i)
        REQUIRE(busy.seen[i] - busy.seen[i - 1] <= 12); // 200 us, and a look before and behind
}
