#include <rota/detail/stack_trace.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <unistd.h>

#include <rota/detail/quiet_thread.hpp>

#include "posted_gate.hpp"

using namespace std::chrono_literals;

namespace {

struct waiting {
    posted_gate begun;
    posted_gate may_end;
    int thread = 0;
};

/// Lets it end, whatever becomes of the test.
struct release_at_end {
    waiting& w;
    ~release_at_end() { w.may_end.release(); }
};

[[gnu::noinline]] void inner(waiting* w) {
    w->begun.release();
    w->may_end.acquire();
    w->thread = 0; // so that it is no tail call
}

[[gnu::noinline]] void outer(waiting* w) {
    w->thread = ::gettid();
    inner(w);
    w->thread = 1;
}

std::size_t place_of(const std::vector<std::string>& names, const std::string& name) {
    const auto found = std::ranges::find_if(
        names, [&](const std::string& n) { return n.find(name) != std::string::npos; });
    return static_cast<std::size_t>(found - names.begin());
}

} // namespace

TEST_CASE("another thread's stack has the functions that it is in, innermost first") {
    waiting w;
    rota::quiet_thread thread = rota::start_quiet_thread("waits", [&w] { outer(&w); });
    const release_at_end end{w};
    w.begun.acquire();
    // Again and again: each answer is to its own question.
    for (int i = 0; i < 4; ++i) {
        const std::vector<void*> stack = rota::stack_of(w.thread, 30s);
        REQUIRE_FALSE(stack.empty());
        const std::vector<std::string> names = rota::describe_stack(stack);
        REQUIRE(names.size() == stack.size());
        CAPTURE(names);
        CHECK(place_of(names, "::inner") < place_of(names, "::outer"));
        CHECK(place_of(names, "::outer") < names.size());
    }
}

TEST_CASE("a thread that is not there has no stack") {
    CHECK(rota::stack_of(0x3fffffff, 30s).empty());
}

TEST_CASE("several may ask at once") {
    waiting w;
    rota::quiet_thread thread = rota::start_quiet_thread("waits", [&w] { outer(&w); });
    const release_at_end end{w};
    w.begun.acquire();
    std::atomic<int> answered{0};
    {
        std::vector<std::jthread> askers;
        for (int i = 0; i < 4; ++i) {
            askers.emplace_back([&] { answered += rota::stack_of(w.thread, 30s).empty() ? 0 : 1; });
        }
    }
    CHECK(answered == 4);
}
