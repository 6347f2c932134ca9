#include <rota/stepped_routine.hpp>

#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/inline_scheduler.hpp>
#include <rota/runtime.hpp>

namespace {

template <class T>
rota::generator<T, std::string> three(T a, T b, T c) {
    co_yield a;
    co_yield b;
    co_yield c;
}

rota::generator<int, int, int> add_up(int times) {
    int sum = 0;
    for (int i = 0; i < times; ++i) {
        sum += (co_yield sum).value_or(100);
    }
    co_return sum;
}

rota::generator<int> fail_after(int values) {
    for (int i = 0; i < values; ++i) {
        co_yield i;
    }
    throw std::runtime_error("on purpose");
}

std::string text(const std::string& s) { return s; }
std::string text(int i) { return std::to_string(i); }
std::string text(char c) { return {c}; }

/// What the observers of several routines on several threads have seen.
class steps_seen {
public:
    template <class Yield, class Send>
    auto observer() {
        using routine_type = rota::stepped_routine<Yield, Send>;
        return [this](routine_type& self, const std::optional<Yield>& value) {
            const std::lock_guard guard(lock_);
            const bool stopped = self.phase() == routine_type::steps::phase::stopped;
            seen_[self.name()] += stopped ? "." : text(*value) + " ";
        };
    }
    std::map<std::string, std::string> seen() {
        const std::lock_guard guard(lock_);
        return seen_;
    }

private:
    std::mutex lock_;
    std::map<std::string, std::string> seen_;
};

} // namespace

TEST_CASE("a step goes ready, running, stopped and gives what is yielded") {
    using steps = rota::stepper<int, int, int>;
    steps s(add_up(2));
    REQUIRE(s.state() == steps::phase::ready);
    REQUIRE(s.step(7) == 0); // the first step has no co_yield to give it to
    REQUIRE(s.state() == steps::phase::running);
    REQUIRE(s.step(5) == 5);
    REQUIRE(s.step() == std::nullopt);
    REQUIRE(s.state() == steps::phase::stopped);
    REQUIRE(s.result() == 105);
    REQUIRE(s.step(1) == std::nullopt);
    REQUIRE(s.state() == steps::phase::stopped);
}

TEST_CASE("a step that throws has stopped") {
    rota::stepper<int> s(fail_after(1));
    REQUIRE(s.step() == 0);
    REQUIRE_THROWS_AS(s.step(), std::runtime_error);
    REQUIRE(s.state() == rota::stepper<int>::phase::stopped);
}

TEST_CASE("the references' example: four coroutines, three workers, batches of two") {
    steps_seen n;
    rota::runtime rt({.workers = 3, .batch_size = 2});
    std::vector<rota::routine_ptr> all;
    all.push_back(rota::spawn_stepped(rt, three<std::string>("x", "y", "z"),
                                      n.observer<std::string, std::string>(), {.name = "co1"}));
    all.push_back(
        rota::spawn_stepped(rt, three(1, 2, 3), n.observer<int, std::string>(), {.name = "co2"}));
    all.push_back(rota::spawn_stepped(rt, three(99, 98, 97), n.observer<int, std::string>(),
                                      {.name = "co3"}));
    all.push_back(rota::spawn_stepped(rt, three('a', 'b', 'c'), n.observer<char, std::string>(),
                                      {.name = "co4"}));
    REQUIRE(n.seen().empty()); // they wait for start()
    std::map<std::size_t, int> of_worker;
    for (const rota::routine_ptr& r : all) {
        REQUIRE(r->state() == rota::routine_state::ready);
        ++of_worker[r->home().index()];
    }
    // Batches (0,2) (2,3) (0,2) (2,3).
    REQUIRE(of_worker == std::map<std::size_t, int>{{0, 1}, {1, 1}, {2, 2}});
    rt.start();
    rt.join();
    const std::map<std::string, std::string> expected{
        {"co1", "x y z ."}, {"co2", "1 2 3 ."}, {"co3", "99 98 97 ."}, {"co4", "a b c ."}};
    REQUIRE(n.seen() == expected);
    for (const rota::routine_ptr& r : all) {
        REQUIRE(r->state() == rota::routine_state::stopped);
    }
}

TEST_CASE("routines on one worker take turns, step by step") {
    rota::inline_scheduler scheduler;
    std::string order;
    const auto watch = [&order](rota::stepped_routine<char, std::string>&,
                                const std::optional<char>& value) { order += value.value_or('.'); };
    (void)rota::spawn_stepped(scheduler, three('a', 'b', 'c'), watch);
    (void)rota::spawn_stepped(scheduler, three('x', 'y', 'z'), watch);
    REQUIRE(scheduler.run() == rota::run_status::no_routines);
    REQUIRE(order == "axbycz..");
}

TEST_CASE("the observer answers, and reads the result at the end") {
    rota::inline_scheduler scheduler;
    std::vector<int> seen;
    int result = 0;
    const auto watch = [&](rota::stepped_routine<int, int, int>& self,
                           const std::optional<int>& value) {
        if (value) {
            seen.push_back(*value);
            self.send(10);
        } else {
            result = self.result();
        }
    };
    (void)rota::spawn_stepped(scheduler, add_up(3), watch);
    scheduler.run();
    REQUIRE(seen == std::vector{0, 10, 20});
    REQUIRE(result == 30);
}

TEST_CASE("errors of the body and of the observer end the routine and are reported") {
    std::vector<std::string> reported;
    rota::inline_scheduler scheduler(
        [&](const rota::routine& r, const std::exception_ptr&) { reported.push_back(r.name()); });
    const auto failing = rota::spawn_stepped(scheduler, fail_after(2), {}, {.name = "body"});
    const auto watch = [](rota::stepped_routine<int>&, const std::optional<int>&) {
        throw std::runtime_error("observer");
    };
    (void)rota::spawn_stepped(scheduler, fail_after(2), watch, {.name = "observer"});
    REQUIRE(scheduler.run() == rota::run_status::no_routines);
    REQUIRE(reported == std::vector<std::string>{"observer", "body"});
    REQUIRE(failing->error() != nullptr);
}

TEST_CASE("a stop request ends a stepped routine between two steps") {
    rota::inline_scheduler scheduler;
    int steps = 0;
    constexpr auto endless = []() -> rota::generator<int> {
        for (int i = 0;; ++i) {
            co_yield i;
        }
    };
    using phase = rota::stepper<int>::phase;
    std::vector<phase> ends;
    const auto watch = [&](rota::stepped_routine<int>& self, const std::optional<int>& value) {
        if (!value) {
            ends.push_back(self.phase());
        } else if (++steps == 5) {
            self.request_stop();
        }
    };
    const auto stopped = rota::spawn_stepped(scheduler, endless(), watch);
    REQUIRE(scheduler.run() == rota::run_status::no_routines);
    REQUIRE(steps == 5);
    REQUIRE(ends == std::vector<phase>{phase::stopped});
    REQUIRE(static_cast<rota::stepped_routine<int>&>(*stopped).phase() == phase::stopped);
    REQUIRE(stopped->error() == nullptr);

    // Before its first step, too.
    const auto never = rota::spawn_stepped(scheduler, endless(), watch);
    never->request_stop();
    REQUIRE(scheduler.run() == rota::run_status::no_routines);
    REQUIRE(steps == 5);
    REQUIRE(ends == std::vector<phase>{phase::stopped, phase::stopped});
}

TEST_CASE("an observer is told of the end once, whatever it is") {
    using stepped = rota::stepped_routine<int>;
    using phase = rota::stepper<int>::phase;
    rota::inline_scheduler scheduler([](const rota::routine&, const std::exception_ptr&) {});
    int values = 0;
    int ends = 0;
    bool with_error = false;
    const auto watch = [&](stepped& self, const std::optional<int>& value) {
        value ? ++values : ++ends;
        if (!value) {
            CHECK(self.phase() == phase::stopped);
            with_error = self.error() != nullptr;
        }
    };
    (void)rota::spawn_stepped(scheduler, fail_after(2), watch);
    REQUIRE(scheduler.run() == rota::run_status::no_routines);
    REQUIRE(values == 2);
    REQUIRE(ends == 1);
    REQUIRE(with_error);

    // One that has thrown itself knows.
    int calls = 0;
    const auto throws = [&](stepped&, const std::optional<int>&) {
        ++calls;
        throw std::runtime_error("observer");
    };
    const auto thrown = rota::spawn_stepped(scheduler, fail_after(2), throws);
    REQUIRE(scheduler.run() == rota::run_status::no_routines);
    REQUIRE(calls == 1);
    REQUIRE(static_cast<stepped&>(*thrown).phase() == phase::stopped);
    REQUIRE(thrown->error() != nullptr);
}
