#include <rota/quiet_thread.hpp>

#include <csignal>

#include <pthread.h>

#include <catch2/catch_test_macros.hpp>

namespace {

bool blocks(int signal) {
    sigset_t mask;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    return ::sigismember(&mask, signal) == 1;
}

} // namespace

TEST_CASE("a quiet thread takes no signals but those of faults") {
    const bool before = blocks(SIGTERM);
    bool term = false;
    bool fault = true;
    auto thread = rota::start_quiet_thread("a-name-that-is-too-long", [&] {
        term = blocks(SIGTERM) && blocks(SIGINT) && blocks(SIGUSR1);
        fault = blocks(SIGSEGV);
    });
    thread.join();
    REQUIRE(term);
    REQUIRE_FALSE(fault);
    REQUIRE(blocks(SIGTERM) == before);
}
