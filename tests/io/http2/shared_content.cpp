// Answers that are sent from where they are: whole, in order, held no longer than they are needed.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include <catch2/catch_test_macros.hpp>

#include <rota/io/shared_bytes.hpp>
#include <rota/sleep.hpp>

#include "allocations_left.hpp"
#include "client.hpp"

namespace rota::http {
namespace {

using namespace std::chrono_literals;
using namespace test;

constexpr std::uint32_t much = 100'000'000;

std::string letters(std::size_t size) {
    std::string made(size, 'a');
    for (std::size_t i = 0; i < size; ++i)
        made[i] = static_cast<char>('a' + (i % 23 + i / 4'001) % 26);
    return made;
}

/// Content of many sizes, in every way in which it may be shared, of which `held` knows.
router sharing(const std::shared_ptr<int>& held) {
    const auto make = [held](std::size_t size) {
        const auto kept =
            std::make_shared<std::pair<std::string, std::shared_ptr<int>>>(letters(size), held);
        return io::shared_bytes(std::shared_ptr<const char[]>(kept, kept->first.data()), size);
    };
    router made;
    made.get("/owned/{size}",
             [](const request& asked) {
                 return response::text(letters(asked.param<std::size_t>("size")));
             })
        .get("/shared/{size}",
             [make](const request& asked) {
                 return response::shared(make(asked.param<std::size_t>("size")), "text/plain");
             })
        .get("/late/{size}",
             [make](request& asked) -> task<response> {
                 co_await sleep_for(1ms);
                 co_return response::shared(make(asked.param<std::size_t>("size")), "text/plain");
             })
        .get("/streamed/{size}", [make](const request& asked) {
            const std::size_t size = asked.param<std::size_t>("size");
            return response::stream([all = make(size)](body_writer& out) -> task<void> {
                const std::string_view text = all.view();
                co_await out.write_shared(all.part(text.substr(0, text.size() / 3)));
                co_await out.write(text.substr(text.size() / 3, 10));
                co_await out.write_shared(all.part(text.substr(text.size() / 3 + 10)));
            });
        });
    return made;
}

constexpr const char* ways[] = {"/owned/", "/shared/", "/late/", "/streamed/"};

std::string head_of(std::uint32_t id, const std::string& path, const char* method = "GET") {
    return make_frame(headers_frame, end_headers | end_stream, id, encode(asking(method, path)));
}

std::string window(std::uint32_t id, std::uint32_t bytes) {
    return make_frame(window_frame, 0, id, number(bytes));
}

/// Streams of a client whose windows and whose readiness to take anything are a seed's.
void run_windows(std::uint32_t seed, bool takes_shared) {
    CAPTURE(seed, takes_shared);
    std::mt19937 random(seed);
    const auto below = [&](std::uint32_t limit) {
        return static_cast<std::uint32_t>(random() % limit);
    };
    const auto held = std::make_shared<int>(0);
    {
        http2_client c(sharing(held), {}, false);
        if (takes_shared)
            c.stream().take_shared();
        constexpr std::uint32_t first_windows[] = {0, 1, 4'097, 65'535, 1'000'000};
        c.hello(number(4, 2) + number(first_windows[below(5)]));
        constexpr std::uint32_t end = 41;
        std::map<std::uint32_t, std::size_t> sizes; // of those that are not reset
        for (std::uint32_t id = 1; id < end; id += 2) {
            const std::size_t size = 4'000 + below(60'000) * (below(4) == 0 ? 4 : 1);
            const bool head = below(8) == 0;
            sizes[id] = head ? 0 : size;
            c.stream().set_room(below(60'000));
            c.stream().send(
                head_of(id, ways[below(4)] + std::to_string(size), head ? "HEAD" : "GET"));
            c.go_on(std::chrono::milliseconds(below(2)));
            const std::uint32_t of = 1 + 2 * below((id + 1) / 2);
            if (below(3) == 0)
                c.send(window(of, 1 + below(30'000)));
            if (below(2) == 0)
                c.send(window(0, 1 + below(70'000)));
            if (below(6) == 0) {
                sizes.erase(of);
                c.reset(of);
            }
        }
        c.stream().set_room(much);
        c.receive();
        c.send(window(0, much));
        for (std::uint32_t id = 1; id < end; id += 2)
            c.send(window(id, much));
        c.advance(1ms);
        for (const auto& [id, size] : sizes) {
            CAPTURE(id);
            CHECK(c.answers[id].ended);
            CHECK(c.answers[id].content == letters(size));
        }
        CHECK(c.goaway() == -1);
        CHECK((c.stream().shared() > 0) == takes_shared);
        c.advance(2s);                // spare streams go
        CHECK(held.use_count() == 4); // the others are the handlers'
    }
    CHECK(held.use_count() == 1);
}

TEST_CASE("http2: shared content is whole, whatever the windows, and whichever streams are reset "
          "in between") {
    for (std::uint32_t seed = 0; seed < 60; ++seed)
        run_windows(seed, seed % 3 != 0);
}

TEST_CASE("http2: shared content for which there is no memory is cut, never wrong") {
    for (const std::string way : ways) {
        CAPTURE(way);
        std::size_t whole = 0;
        for (long left = 0; left < 200 && whole < 3; ++left) {
            const auto held = std::make_shared<int>(0);
            {
                http2_client c(sharing(held), {}, false);
                c.stream().take_shared();
                c.hello(number(4, 2) + number(1'000'000));
                c.stream().send(window(0, 1'000'000) + head_of(1, way + "50000") +
                                head_of(3, way + "20000"));
                ::test::allocations_left = left;
                ::test::failures_left = 1;
                try {
                    c.go_on(1ms);
                } catch (const std::bad_alloc&) { // of the scheduler's own
                }
                const bool failed = ::test::allocations_left == -1;
                ::test::allocations_left = ::test::failures_left = -1;
                c.advance(1ms);
                for (const auto& [id, size] : {std::pair(1U, 50'000), std::pair(3U, 20'000)}) {
                    const http2_client::answer& got = c.answers[id];
                    const std::string all = letters(static_cast<std::size_t>(size));
                    const bool refused = got.get(":status") == "500";
                    CHECK((refused || all.starts_with(got.content)));
                    CHECK((refused || !got.ended || got.content == all));
                }
                whole += failed ? 0 : 1;
            }
            CHECK(held.use_count() == 1);
        }
        CHECK(whole == 3);
    }
}

TEST_CASE("http2: of an answer that does not leave no more is logged than has") {
    for (const bool takes_shared : {true, false}) {
        CAPTURE(takes_shared);
        http2_client c(sharing(std::make_shared<int>(0)), {}, false);
        if (takes_shared)
            c.stream().take_shared();
        c.hello(number(4, 2) + number(much));
        c.send(window(0, much));
        c.stream().set_room(100'000);
        for (std::uint32_t id = 1; id < 8; id += 2)
            c.stream().send(head_of(id, "/owned/" + std::string(id == 1 ? "900000" : "20000")));
        c.go_on();
        for (std::uint32_t id = 1; id < 8; id += 2)
            c.stream().send(make_frame(reset_frame, 0, id, number(8)));
        c.go_on();
        REQUIRE(c.logged.size() == 4);
        std::uint64_t logged = 0;
        for (const auto& [status, bytes] : c.logged)
            logged += bytes;
        CHECK(logged < 300'000);
        c.stream().set_room(much);
        c.receive();
        std::size_t got = 0;
        for (std::uint32_t id = 1; id < 8; id += 2)
            got += c.answers[id].content.size();
        CHECK(got == logged);
    }
}

} // namespace
} // namespace rota::http
