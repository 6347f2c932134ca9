// The read side when there is no memory for what it has reaped.

#include <chrono>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/detail/parker.hpp>
#include <rota/worker.hpp>

#include "fake_backends.hpp"
#include "limited_memory.hpp"
#include "read_side.hpp"
#include "read_side_set_up.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;
using ::test::allocations_left;

namespace {

constexpr int events = 5;

/// Reaps what is for `workers` workers with room for `count` allocations, then with all that there
/// is; true if the first was enough.
bool enough(std::size_t workers, long count) {
    read_script script;
    read_side side([&] { return std::make_unique<fake_read_backend>(script); }, 30us);
    std::deque<rota::worker> homes;
    std::deque<test_op> ops;
    const auto turn = [&] {
        for (rota::worker& home : homes) {
            rota::worker* const before = home.hold();
            home.turn(100);
            rota::worker::restore(before);
        }
    };
    for (std::size_t i = 0; i < workers; ++i) {
        homes.emplace_back(i, rota::time_source::steady(), std::make_unique<rota::parker>());
        ops.emplace_back(homes.back());
        side.request(ops.back(), operation::want_arm);
    }
    side.turn({}, false);
    for (int event = 1; event <= events; ++event) {
        for (test_op& op : ops)
            script.complete(op, event, event < events ? completion_flags::more : 0);
    }

    allocations_left = count;
    side.turn(never, false);
    const bool sufficed = allocations_left != 0;
    allocations_left = -1;
    turn();
    side.turn({}, false);
    turn();
    results expected;
    for (int event = 1; event <= events; ++event)
        expected.emplace_back(event, event < events ? completion_flags::more : 0);
    for (const test_op& op : ops) {
        CHECK(op.got == expected);
        CHECK_FALSE(op.armed);
    }
    return sufficed;
}

} // namespace

TEST_CASE("what has been reaped and lacks memory comes later, once and in order") {
    for (const std::size_t workers : {1, 2, 3}) {
        CAPTURE(workers);
        long count = 0;
        while (!enough(workers, count))
            ++count;
        CHECK(count != 0); // some have failed
    }
}
