#include "jobs/watch/shared_round.hpp"

#include <chrono>

#include <catch2/catch_test_macros.hpp>

#include <rota/event.hpp>
#include <rota/runtime.hpp>

using namespace jobs;
using namespace std::chrono_literals;

namespace {

rota::task<void> work_on(shared_round* rounds, rota::event* may_go_on, int* done) {
    for (;;) {
        co_await rounds->begin();
        co_await may_go_on->wait();
        ++*done;
        rounds->end();
    }
}

} // namespace

TEST_CASE("work is done when it is wanted, once for all, and nobody waits for it for long") {
    rota::runtime runtime({.workers = 1});
    shared_round rounds;
    rota::event may_go_on;
    int done = 0;
    const rota::routine_ptr worker = runtime.spawn(work_on(&rounds, &may_go_on, &done));
    CHECK_FALSE(runtime.block_on(rounds.wait(1h, 1ms))); // it hangs
    may_go_on.set();
    CHECK(runtime.block_on(rounds.wait(1h, 1h)));
    CHECK(done >= 1);
    const int before = done;
    for (int i = 0; i < 10; ++i)
        CHECK(runtime.block_on(rounds.wait(1h, 1h)));
    CHECK(done <= before + 1); // a want may have been left over
    CHECK(runtime.block_on(rounds.wait(0s, 1h)));
    worker->request_stop();
    worker->wait_stopped();
}
