#include <rota/io/signals.hpp>

#include <csignal>
#include <memory>
#include <stdexcept>

#include <catch2/catch_test_macros.hpp>
#include <sys/wait.h>

#include "support.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;
using rota::task;

namespace {

task<int> sum_of_two(context* ctx, signal_set* signals) {
    const int first = co_await signals->next(*ctx);
    const int second = co_await signals->next(*ctx);
    co_return first * 100 + second;
}

} // namespace

TEST_CASE("signals are waited for, one after the other") {
    const combination how = each_combination();
    signal_set signals{SIGUSR1, SIGUSR2};
    context ctx(options_for(how));
    // To the process, as kill(1) does it: no thread of the context may take it.
    REQUIRE(::kill(::getpid(), SIGUSR1) == 0);
    REQUIRE(::kill(::getpid(), SIGUSR2) == 0);
    CHECK(ctx.block_on(sum_of_two(&ctx, &signals)) == SIGUSR1 * 100 + SIGUSR2);
}

TEST_CASE("a signal that comes later wakes who waits for it") {
    const combination how = each_combination();
    signal_set signals{SIGUSR1};
    context ctx(options_for(how));
    std::atomic<int> got = 0;
    constexpr auto wait = [](context* c, signal_set* s, std::atomic<int>* out) -> task<void> {
        const int number = co_await s->next(*c);
        out->store(number);
    };
    const rota::routine_ptr r = ctx.workers().spawn(wait(&ctx, &signals, &got));
    while (r->state() != rota::routine_state::blocked)
        std::this_thread::yield();
    REQUIRE(::kill(::getpid(), SIGUSR1) == 0);
    finish(r);
    CHECK(got == SIGUSR1);
}

TEST_CASE("the mask of the thread is as before when the set has gone") {
    sigset_t before;
    sigset_t after;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
    {
        const signal_set signals{SIGUSR1};
        sigset_t during;
        ::pthread_sigmask(SIG_SETMASK, nullptr, &during);
        CHECK(::sigismember(&during, SIGUSR1) == 1);
    }
    ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
    CHECK(::sigismember(&after, SIGUSR1) == ::sigismember(&before, SIGUSR1));
}

TEST_CASE("a signal that nobody took goes with the set") {
    const pid_t child = ::fork();
    if (child == 0) {
        {
            const signal_set signals{SIGTERM, SIGINT};
            ::kill(::getpid(), SIGTERM);
            ::kill(::getpid(), SIGINT);
        }
        ::_exit(7);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 7));
}

TEST_CASE("a signal that was blocked before stays where it was") {
    const pid_t child = ::fork();
    if (child == 0) {
        sigset_t mine;
        ::sigemptyset(&mine);
        ::sigaddset(&mine, SIGUSR1);
        ::pthread_sigmask(SIG_BLOCK, &mine, nullptr);
        {
            const signal_set signals{SIGUSR1};
            ::kill(::getpid(), SIGUSR1);
        }
        sigset_t pending;
        ::sigpending(&pending);
        ::_exit(::sigismember(&pending, SIGUSR1));
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 1));
}

TEST_CASE("what no signal can be waited for by is refused") {
    for (const int number : {12345, 0, -1, SIGKILL, SIGSTOP})
        CHECK_THROWS_AS(signal_set({SIGUSR1, number}), std::invalid_argument);
    CHECK_THROWS_AS(signal_set({}), std::invalid_argument);
}
