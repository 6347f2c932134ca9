#include <rota/worker_local.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/blocking.hpp>
#include <rota/event.hpp>
#include <rota/inline_scheduler.hpp>
#include <rota/join.hpp>
#include <rota/runtime.hpp>
#include <rota/sleep.hpp>
#include <rota/yield.hpp>

#include "becomes.hpp"

using namespace rota;

namespace {

/// Where objects were made and destroyed.
struct record {
    std::mutex lock;
    std::size_t made = 0;
    std::size_t gone = 0;
    std::size_t gone_elsewhere = 0; // than where they were made
};

struct noted {
    explicit noted(record& where) : book(where) {
        const std::lock_guard guard(book.lock);
        ++book.made;
    }
    noted(const noted&) = delete;
    ~noted() {
        const std::lock_guard guard(book.lock);
        ++book.gone;
        book.gone_elsewhere += worker::current() != home ? 1 : 0;
    }
    record& book;
    worker* const home = worker::current();
    int uses = 0;
};

using noted_local = worker_local<noted>;

std::function<noted()> notes(record& book) {
    return [&book] { return noted(book); };
}

task<noted*> use(noted_local* local) {
    co_await yield();
    noted& mine = local->get();
    ++mine.uses;
    co_return &mine;
}

task<void> keep_using(noted_local* local, event* end) {
    static_cast<void>(local->get());
    co_await end->wait();
    ++local->get().uses;
}

task<void> use_once(noted_local* local) {
    ++local->get().uses;
    co_return;
}

void use_on(runtime& rt, std::size_t index, noted_local& local) {
    rt.spawn(use_once(&local), {.on = rt.worker_at(index)})->wait_stopped();
}

/// A routine uses the object of the second of two workers, and again once `end` is set.
struct in_use {
    in_use() {
        rt.start();
        user = rt.spawn(keep_using(&local, &end), {.on = &second()});
    }
    worker& second() { return *rt.worker_at(1); }

    record book;
    noted_local local{notes(book)};
    event end;
    runtime rt{{.workers = 2}};
    routine_ptr user;
};

bool has_ended(const runtime& rt, std::size_t index) {
    return becomes([&] { return rt.worker_at(index)->ended(); });
}

} // namespace

TEST_CASE("each worker has an object of its own, and keeps it") {
    record book;
    noted_local local(notes(book));
    runtime rt({.workers = 3});
    std::set<noted*> seen;
    for (int i = 0; i < 30; ++i) {
        noted* const mine = rt.block_on(use(&local));
        CHECK(mine->home != nullptr);
        seen.insert(mine);
    }
    CHECK(seen.size() == 3);
    CHECK(book.made == 3);
    CHECK(book.gone == 0);
    rt.stop();
    CHECK(book.gone == 3);
    CHECK(book.gone_elsewhere == 0);
}

TEST_CASE("off a worker there is none") {
    record book;
    noted_local local(notes(book));
    CHECK_THROWS_AS(local.get(), std::logic_error);
    runtime rt({.workers = 1});
    constexpr auto ask = [](noted_local* l) -> task<void> {
        co_await blocking([l] { static_cast<void>(l->get()); });
    };
    CHECK_THROWS_AS(rt.block_on(ask(&local)), std::logic_error);
    CHECK(book.made == 0);
}

TEST_CASE("a worker that goes takes its object along, and gets a new one when it comes again") {
    record book;
    noted_local local(notes(book));
    runtime rt({.workers = 2});
    rt.start();
    for (int round = 1; round <= 3; ++round) {
        use_on(rt, 0, local);
        use_on(rt, 1, local);
        rt.set_workers(1);
        REQUIRE(has_ended(rt, 1));
        CHECK(book.gone == static_cast<std::size_t>(round));
        CHECK(book.made == static_cast<std::size_t>(round) + 1);
        rt.set_workers(2);
    }
    rt.stop();
    CHECK(book.gone == 4);
    CHECK(book.gone_elsewhere == 0);
}

TEST_CASE("an object stays while its worker has routines, though it is to end") {
    in_use it;
    use_on(it.rt, 1, it.local);
    it.rt.set_workers(1);
    CHECK(!it.second().ended());
    CHECK(it.book.gone == 0);
    it.end.set();
    it.user->wait_stopped();
    REQUIRE(has_ended(it.rt, 1));
    CHECK(it.book.made == 1);
    CHECK(it.book.gone == 1);
}

TEST_CASE("it destroys what it has given while the workers go on") {
    record book;
    runtime rt({.workers = 4});
    rt.start();
    {
        noted_local local(notes(book));
        for (std::size_t i = 0; i < 4; ++i)
            use_on(rt, i, local);
    }
    CHECK(book.made == 4);
    CHECK(book.gone == 4); // it has waited
    CHECK(book.gone_elsewhere == 0);
}

TEST_CASE("it may end on a worker") {
    record book;
    runtime rt({.workers = 2});
    rt.start();
    auto local = std::make_unique<noted_local>(notes(book));
    use_on(rt, 0, *local);
    use_on(rt, 1, *local);
    constexpr auto drop = [](std::unique_ptr<noted_local> last, record* b) -> task<std::size_t> {
        last.reset();
        const std::lock_guard guard(b->lock);
        co_return b->gone;
    };
    CHECK(rt.block_on(drop(std::move(local), &book)) >= 1);
    rt.stop();
    CHECK(book.gone == 2);
    CHECK(book.gone_elsewhere == 0);
}

TEST_CASE("what could not be made is tried again") {
    int calls = 0;
    worker_local<std::unique_ptr<int>> local([&calls] {
        if (++calls == 1)
            throw std::runtime_error("not now");
        return std::make_unique<int>(calls);
    });
    constexpr auto ask = [](worker_local<std::unique_ptr<int>>* l) -> task<int> {
        co_return *l->get();
    };
    runtime rt({.workers = 1});
    CHECK_THROWS_AS(rt.block_on(ask(&local)), std::runtime_error);
    CHECK(rt.block_on(ask(&local)) == 2);
    CHECK(rt.block_on(ask(&local)) == 2);
}

TEST_CASE("several do not mix, and one may use another at its end") {
    struct last_words {
        worker_local<int>* to;
        std::atomic<int>* heard;
        ~last_words() { *heard += ++to->get(); }
    };
    std::atomic<int> heard{0};
    worker_local<int> numbers;
    worker_local<last_words> words([&] { return last_words{&numbers, &heard}; });
    constexpr auto go = [](worker_local<int>* n, worker_local<last_words>* w) -> task<void> {
        *n->operator->() = 41;
        static_cast<void>(w->get());
        co_return;
    };
    runtime rt({.workers = 1});
    rt.block_on(go(&numbers, &words));
    rt.stop();
    CHECK(heard == 42);
}

TEST_CASE("on another thread that has the baton it is the same object") {
    record book;
    noted_local local(notes(book));
    runtime rt({.workers = 1});
    noted* const own = rt.block_on(use(&local));
    worker& w = *rt.worker_at(0);
    noted* lent = nullptr;
    for (int i = 0; i < 100 && lent == nullptr; ++i) {
        REQUIRE(becomes([&] { return w.try_lend(); }));
        const routine_ptr r = rt.spawn([](noted_local* l, noted** out) -> task<void> {
            *out = &l->get();
            co_return;
        }(&local, &lent));
        w.run_lent(std::chrono::seconds(1));
        r->wait_stopped();
    }
    CHECK(lent == own);
    CHECK(book.made == 1);
}

TEST_CASE("a lent run that ends the last routine leaves the object to the worker's thread") {
    in_use it;
    REQUIRE(becomes([&] { return it.user->state() == routine_state::blocked; }));
    it.rt.set_workers(1);
    REQUIRE(becomes([&] { return it.second().try_lend(); }));
    it.end.set();
    it.second().run_lent(std::chrono::seconds(1));
    CHECK(it.user->state() == routine_state::stopped);
    REQUIRE(has_ended(it.rt, 1));
    CHECK(it.book.gone == 1);
    CHECK(it.book.gone_elsewhere == 0);
}

TEST_CASE("the inline scheduler is a worker, too") {
    record book;
    noted_local local(notes(book));
    {
        inline_scheduler scheduler;
        scheduler.spawn(use_once(&local));
        scheduler.run();
        CHECK(book.made == 1);
        {
            noted_local other(notes(book));
            scheduler.spawn(use_once(&other));
            scheduler.run();
        }
        CHECK(book.gone == 1);
    }
    CHECK(book.made == 2);
    CHECK(book.gone == 2);
    CHECK(book.gone_elsewhere == 0);
}

TEST_CASE("it may end while its workers do") {
    record book;
    constexpr int rounds = 100;
    std::size_t uses = 0;
    for (int i = 0; i < rounds; ++i) {
        runtime rt({.workers = 3});
        rt.start();
        auto local = std::make_unique<noted_local>(notes(book));
        for (std::size_t at = 0; at < 3; ++at, ++uses)
            use_on(rt, at, *local);
        std::thread shrinking([&rt, i] { i % 2 == 0 ? rt.set_workers(1) : rt.stop(); });
        local.reset();
        shrinking.join();
    }
    CHECK(book.made == uses);
    CHECK(book.gone == uses);
    CHECK(book.gone_elsewhere == 0);
}
