#include "live_feed.hpp"

#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/errors.hpp>
#include <rota/inline_scheduler.hpp>
#include <rota/sleep.hpp>

using namespace rota_http;
using namespace std::chrono_literals;
using rota::task;

namespace {

struct counted {
    int made = 0;
    bool fails = false;

    static task<std::string> make(counted* self) {
        rota::task<void> a_while = rota::sleep_for(1ms);
        co_await std::move(a_while);
        ++self->made;
        if (self->fails)
            throw std::runtime_error("cannot");
        co_return std::to_string(self->made);
    }
};

struct bench {
    counted count;
    live_feed feed{[this] { return counted::make(&count); }, 100ms};
    rota::inline_scheduler scheduler;

    /// Looks `times` times, each followed by `pause`.
    rota::routine_ptr watch(int times, std::vector<std::string>* into,
                            std::chrono::milliseconds pause = 0ms) {
        return scheduler.spawn(look(&feed, times, into, pause), {.report_errors = false});
    }
    static task<void> look(live_feed* feed, int times, std::vector<std::string>* into,
                           std::chrono::milliseconds pause) {
        std::uint64_t seen = 0;
        for (int i = 0; i < times; ++i) {
            task<live_feed::issue> next = feed->next(seen);
            const live_feed::issue latest = co_await std::move(next);
            seen = latest.number;
            into->push_back(*latest.text);
            if (pause > 0ms) {
                task<void> sleeping = rota::sleep_for(pause);
                co_await std::move(sleeping);
            }
        }
    }
};

using texts = std::vector<std::string>;

} // namespace

TEST_CASE("all who look share what is made once an interval") {
    bench b;
    texts one;
    texts two;
    b.watch(3, &one);
    b.watch(3, &two);
    b.scheduler.advance(1s);
    CHECK(one == texts{"1", "2", "3"});
    CHECK(two == one);
    CHECK(b.count.made == 3);
}

TEST_CASE("nothing is made while nobody looks") {
    bench b;
    texts seen;
    b.watch(1, &seen);
    b.scheduler.advance(10s);
    CHECK(b.count.made == 1);
    b.watch(1, &seen); // the last one is of long ago
    b.scheduler.advance(10s);
    CHECK(seen == texts{"1", "2"});
    b.watch(1, &seen);
    b.scheduler.advance(50ms);
    texts late; // one that is recent is not made again
    b.watch(1, &late);
    b.scheduler.run();
    CHECK(late == texts{"3"});
}

TEST_CASE("who is slow misses some") {
    bench b;
    texts quick;
    texts slow;
    b.watch(8, &quick);
    b.watch(2, &slow, 450ms);
    b.scheduler.advance(5s);
    CHECK(quick.size() == 8);
    REQUIRE(slow.size() == 2);
    CHECK(slow[0] == "1");
    CHECK(std::stoi(slow[1]) > 3);
    CHECK(b.count.made == 8);
}

TEST_CASE("when the one who makes it goes, another does") {
    bench b;
    texts first;
    texts second;
    const rota::routine_ptr leader = b.watch(9, &first);
    b.watch(2, &second);
    b.scheduler.advance(20ms);
    leader->request_stop();
    b.scheduler.advance(1s);
    CHECK(first == texts{"1"});
    CHECK(second == texts{"1", "2"});
}

TEST_CASE("what cannot be made is told to one, and made for the next") {
    bench b;
    b.count.fails = true;
    texts first;
    texts second;
    b.watch(1, &first);
    b.watch(1, &second);
    b.scheduler.advance(1ms);
    b.count.fails = false;
    b.scheduler.advance(1s);
    CHECK(first.empty());
    CHECK(second == texts{"2"});
}
