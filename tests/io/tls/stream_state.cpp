// What a peer may have a stream do at once, and how it is told.

#include "stream_state.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <rota/inline_scheduler.hpp>
#include <rota/routine.hpp>

#include "made_files.hpp"
#include "pipe.hpp"

using namespace rota::io::tls;
using namespace rota::io::tls::test;

namespace {

/// A server's stream, and records for it that the test makes.
class stream_and_engine {
public:
    stream_and_engine() {
        const auto shaking = scheduler.spawn(server.handshake(), {.name = "server"});
        std::string out;
        while (!client.complete()) {
            const std::string flight = pipe.take();
            std::string_view in = flight;
            REQUIRE(client.handshake(in, out) != record_engine::outcome::failed);
            pipe.deliver(std::exchange(out, {}));
            scheduler.run();
        }
        REQUIRE(shaking->state() == rota::routine_state::stopped);
        (void)pipe.take();
    }
    /// As many requests for new keys, in `out`.
    void ask_for_keys(int times, std::string& out) {
        for (int i = 0; i < times; ++i) {
            SSL* const ssl = const_cast<SSL*>(client.ssl()); // NOLINT
            REQUIRE(SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED) == 1);
            std::string_view none;
            (void)client.handshake(none, out); // writes it
        }
    }

    pipe_end pipe;
    context of{sample_server()};
    stream server{pipe, of};
    record_engine client{std::make_shared<const snapshot>(sample_client()), "b.test"};
    rota::inline_scheduler scheduler;
};

} // namespace

TEST_CASE("of records that bring little no more are read at once than take a moment") {
    const bool with_keys = GENERATE(false, true);
    stream_and_engine ends;
    std::string records;
    for (int i = 0; i < 5'000; ++i) {
        if (with_keys && i % 50 == 0)
            ends.ask_for_keys(60, records);
        REQUIRE(ends.client.write("x", records));
    }
    ends.pipe.deliver(records);
    std::size_t read = 0;
    std::size_t fills = 0;
    while (read < 5'000) {
        REQUIRE(ends.scheduler.run_task(ends.server.fill()));
        const std::size_t came = ends.server.buffered().size();
        CHECK(came <= 128);
        ends.server.consume(came);
        read += came;
        ++fills;
    }
    CHECK(read == 5'000);
    CHECK(fills >= (with_keys ? 11'000 / (128 + 64) : 5'000 / 128));
}

TEST_CASE("a peer that asks and takes no answer is told why it was given up") {
    stream_and_engine ends;
    ends.pipe.set_room(1);
    std::string why;
    for (int i = 0; i < 100 && why.empty(); ++i) {
        std::string records;
        ends.ask_for_keys(20, records);
        REQUIRE(ends.client.write("text", records));
        ends.pipe.deliver(records);
        try {
            (void)ends.scheduler.run_task(ends.server.fill());
            ends.server.consume(ends.server.buffered().size());
        } catch (const failure& f) {
            why = f.what();
        }
    }
    CHECK_THAT(why, Catch::Matchers::ContainsSubstring("takes no answer"));
}

TEST_CASE("nothing follows a record that there was no memory to queue") {
    const int how = GENERATE(0, 1, 2, 3);
    stream_and_engine ends;
    const bool room = how % 2 == 0;
    if (!room) {
        ends.pipe.set_room(0);
        ends.scheduler.run_task(
            ends.server.write("x", std::chrono::steady_clock::time_point::max()));
    }
    const std::size_t before = ends.pipe.waiting();
    ends.pipe.run_out();
    if (how < 2)
        CHECK_THROWS_AS(ends.scheduler.run_task(ends.server.write("gone")), std::bad_alloc);
    else
        CHECK_THROWS_AS(ends.server.try_write_last("gone"), std::bad_alloc);
    ends.pipe.run_out(false);
    CHECK(ends.server.failed());
    CHECK_FALSE(ends.server.try_write_last("behind it"));
    CHECK(ends.pipe.waiting() == before);
}
