#include <rota/detail/quiet_thread.hpp>

#include <atomic>
#include <csignal>
#include <utility>

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

TEST_CASE("a quiet thread is joined once, by join() or at its end") {
    std::atomic<int> ran{0};
    {
        rota::quiet_thread none;
        REQUIRE_FALSE(none.joinable());
        auto first = rota::start_quiet_thread("first", [&] { ++ran; });
        REQUIRE(first.joinable());
        none = std::move(first);
        none.join();
        REQUIRE_FALSE(none.joinable());
        REQUIRE(ran == 1);
        none = rota::start_quiet_thread("second", [&] { ++ran; });
    }
    REQUIRE(ran == 2);
}

TEST_CASE("a quiet thread knows what it was started for") {
    const int object = 0;
    const void* known = nullptr;
    const void* unknown = &object;
    rota::start_quiet_thread(
        "for", [&] { known = rota::quiet_thread::purpose(); }, &object)
        .join();
    rota::start_quiet_thread("for-nothing", [&] {
        unknown = rota::quiet_thread::purpose();
    }).join();
    REQUIRE(known == &object);
    REQUIRE(unknown == nullptr);
    REQUIRE(rota::quiet_thread::purpose() == nullptr);
}
