#include <rota/auto_event.hpp>

#include <string>

#include <catch2/catch_test_macros.hpp>

#include <rota/inline_scheduler.hpp>
#include <rota/runtime.hpp>

namespace {

rota::task<void> pass(rota::auto_event* e, std::string* log, char what) {
    co_await e->wait();
    log->push_back(what);
}

rota::task<void> ping(rota::auto_event* mine, rota::auto_event* other, int* count, int times) {
    for (int i = 0; i < times; ++i) {
        co_await mine->wait();
        ++*count;
        other->notify();
    }
}

} // namespace

TEST_CASE("one notification lets one through, kept for the next if nobody waits") {
    rota::inline_scheduler scheduler;
    rota::auto_event e;
    std::string log;
    e.notify();
    e.notify(); // one permit all the same
    (void)scheduler.spawn(pass(&e, &log, 'a'));
    (void)scheduler.spawn(pass(&e, &log, 'b'));
    (void)scheduler.spawn(pass(&e, &log, 'c'));
    scheduler.run();
    REQUIRE(log == "a");
    e.notify();
    e.notify(); // two that wait, two that go
    scheduler.run();
    REQUIRE(log == "abc");
}

TEST_CASE("a cancelled wait leaves the permit to the next") {
    rota::inline_scheduler scheduler;
    rota::auto_event e;
    std::string log;
    const auto a = scheduler.spawn(pass(&e, &log, 'a'));
    (void)scheduler.spawn(pass(&e, &log, 'b'));
    scheduler.run();
    a->request_stop();
    e.notify();
    REQUIRE(scheduler.run() == rota::run_status::no_routines);
    REQUIRE(log == "b");
}

TEST_CASE("two workers take turns") {
    rota::runtime rt({.workers = 2});
    rota::auto_event a;
    rota::auto_event b;
    int count = 0;
    (void)rt.spawn(ping(&a, &b, &count, 2000));
    (void)rt.spawn(ping(&b, &a, &count, 2000));
    a.notify();
    rt.join();
    REQUIRE(count == 4000);
}
