#include <rota/http/detail/wire.hpp>

#include <chrono>
#include <string>
#include <string_view>

#include <catch2/catch_test_macros.hpp>

#include <rota/errors.hpp>

#include "memory_stream.hpp"

namespace rota::http {
namespace {

using namespace std::chrono_literals;

struct fixture {
    inline_scheduler scheduler;
    test::memory_stream stream{scheduler};
    server_limits limits;
    worker_counters counters;
    wire client{stream, limits, counters};
};

TEST_CASE("answers gather and leave together") {
    fixture f;
    CHECK(f.client.try_send());
    CHECK(f.stream.writes() == 0);
    f.client.pending() += "one";
    f.client.pending() += "two";
    CHECK(f.client.try_send());
    CHECK(f.client.pending().empty());
    CHECK(f.stream.receive() == "onetwo");
    CHECK(f.stream.writes() == 1);
    f.client.pending() += "three";
    f.scheduler.run_task(f.client.send(std::string_view("four")));
    f.scheduler.run_task(f.client.send_owned("five"));
    CHECK(f.stream.receive() == "threefourfive");
    CHECK(f.client.sent() == 19);
    CHECK(f.counters.bytes_sent.get() == 19);
}

TEST_CASE("a client without room is waited for, but not for ever") {
    fixture f;
    f.stream.set_room(2);
    f.client.pending() += "abc";
    CHECK_FALSE(f.client.try_send());
    CHECK(f.client.pending() == "abc");
    f.limits.send_timeout = 5s;
    CHECK_THROWS_AS(f.scheduler.run_task(f.client.send()), timed_out);
    CHECK(f.stream.aborted());
}

TEST_CASE("a client that takes nothing is not waited for by a flush either") {
    fixture f;
    f.client.pending() += "abc";
    f.limits.send_timeout = 5s;
    const auto start = f.scheduler.now();
    CHECK_THROWS_AS(f.scheduler.run_task(f.client.flush()), timed_out);
    CHECK(f.scheduler.now() - start == 5s);
    CHECK(f.stream.aborted());
}

TEST_CASE("a client that takes little is waited for as long as it takes enough") {
    for (const bool enough : {true, false}) {
        fixture f;
        f.limits.send_timeout = 5s;
        f.limits.send_rate_min_bytes_per_s = 100;
        f.client.pending() += "abc";
        const auto start = f.scheduler.now();
        f.stream.set_taken([&f, start, enough] {
            const auto passed = std::chrono::duration<double>(f.scheduler.now() - start).count();
            if (passed >= 100)
                static_cast<void>(f.stream.receive());
            return static_cast<std::uint64_t>(passed * (enough ? 150 : 50));
        });
        if (enough) {
            f.scheduler.run_task(f.client.flush());
            CHECK_FALSE(f.stream.aborted());
        } else {
            CHECK_THROWS_AS(f.scheduler.run_task(f.client.flush()), timed_out);
            CHECK(f.stream.aborted());
            CHECK(f.scheduler.now() - start <= 11s);
        }
    }
}

TEST_CASE("a buffer that grew large is given back") {
    fixture f;
    f.client.pending().append(100'000, 'x');
    CHECK(f.client.try_send());
    CHECK(f.client.pending().capacity() < 100'000);
    f.client.pending().append(1'000, 'x');
    const std::size_t kept = f.client.pending().capacity();
    CHECK(f.client.try_send());
    CHECK(f.client.pending().capacity() == kept);
}

TEST_CASE("lingering ends with the client, or in time") {
    fixture f;
    f.stream.send("more");
    const auto start = f.scheduler.now();
    f.scheduler.run_task(f.client.linger(5s));
    CHECK(f.stream.write_ended());
    CHECK(f.stream.buffered().empty());
    CHECK(f.scheduler.now() - start == 5s);

    fixture polite;
    polite.stream.send("more");
    polite.stream.finish();
    const auto before = polite.scheduler.now();
    polite.scheduler.run_task(polite.client.linger(5s));
    CHECK(polite.scheduler.now() == before);
}

} // namespace
} // namespace rota::http
