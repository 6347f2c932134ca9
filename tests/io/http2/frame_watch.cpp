#include "frame_watch.hpp"

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <catch2/catch_test_macros.hpp>

#include "client.hpp"

namespace rota::http::h2 {
namespace {

using namespace test;

constexpr std::uint8_t ends = end_headers | end_stream;

struct watched final : stream_states {
    [[nodiscard]] bool is_open(std::uint32_t id) const noexcept override {
        return open.contains(id);
    }
    [[nodiscard]] bool may_begin(std::uint32_t id) const noexcept override { return id <= last; }
    [[nodiscard]] std::size_t open_streams() const noexcept override { return open.size(); }
    explicit watched(http2_limits with = {}) : limits(with) {
        CHECK(see("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") == -1);
    }
    /// The code that it ends with, or -1.
    int see(const std::string& bytes) {
        for (std::string_view rest(bytes); !rest.empty();) {
            const frame_watch::result seen = watch.look(rest, now);
            if (seen.found)
                return static_cast<int>(seen.found->code);
            rest.remove_prefix(seen.good + seen.zeros);
        }
        return -1;
    }
    int see(std::uint8_t type, std::uint8_t flags, std::uint32_t stream) {
        return see(make_frame(type, flags, stream, type == reset_frame ? number(8) : "x"));
    }

    std::set<std::uint32_t> open;
    std::uint32_t last = 0x7fffffff;
    http2_limits limits;
    frame_watch::time_point now{std::chrono::seconds(1)};
    frame_watch watch{limits, 65'536, *this};
};

TEST_CASE("frame_watch: of a stream that its client has ended nothing follows, however late") {
    for (const std::uint8_t type : {data_frame, headers_frame}) {
        for (const std::uint32_t later : {0, 1, 63, 64, 70, 255, 257, 5'000}) {
            watched one;
            CHECK(one.see(headers_frame, end_headers, 1) == -1);
            CHECK(one.see(data_frame, end_stream, 1) == -1);
            for (std::uint32_t i = 0; i < later; ++i)
                CHECK(one.see(headers_frame, ends, 3 + 2 * i) == -1);
            CHECK(one.see(window_frame, 0, 1) == -1);
            CHECK(one.see(type, end_stream | end_headers, 1) == 5);
        }
    }
    watched reset;
    CHECK(reset.see(headers_frame, end_headers, 1) == -1);
    CHECK(reset.see(reset_frame, 0, 1) == -1);
    CHECK(reset.see(data_frame, 0, 1) == 5);
}

TEST_CASE("frame_watch: a stream that was passed over does not begin any more") {
    for (const std::uint8_t type : {data_frame, headers_frame}) {
        for (const std::uint32_t later : {1, 60, 70, 1'000}) {
            for (const std::uint32_t id : {3U, 4 * later - 1}) {
                watched one;
                for (std::uint32_t i = 0; i <= later; ++i)
                    CHECK(one.see(headers_frame, ends, 1 + 4 * i) == -1);
                CHECK(one.see(type, ends, id) == 1);
            }
        }
    }
    const auto see_late = [](std::uint32_t id) {
        watched one; // many in one piece
        one.open = {205};
        CHECK(one.see(headers_frame, ends, 101) == -1);
        CHECK(one.see(headers_frame, ends, 103) == -1);
        for (std::uint32_t later = 201; later < 4'000; later += 4)
            CHECK(one.see(headers_frame, ends, later) == -1);
        return one.see(headers_frame, ends, id);
    };
    for (const std::uint32_t id : {1, 51, 99, 105, 151, 199, 203, 3'999})
        CHECK(see_late(id) == (id < 3'999 ? 1 : -1));
    CHECK(see_late(205) == 5); // open still, and ended by its client
    CHECK(see_late(3'997) == 5);
}

TEST_CASE("frame_watch: frames of a stream that the server gave up may have been under way") {
    watched one;
    CHECK(one.see(headers_frame, end_headers, 1) == -1);
    for (std::uint32_t i = 3; i < 1'000; i += 2)
        CHECK(one.see(headers_frame, ends, i) == -1);
    CHECK(one.see(data_frame, 0, 1) == -1);
    CHECK(one.see(headers_frame, ends, 1) == -1);
    CHECK(one.see(data_frame, 0, 1) == 5);
}

TEST_CASE("frame_watch: content of a stream that the server gave up costs beyond the windows") {
    const auto taken = [](watched& one, std::uint32_t id, std::size_t bytes) {
        const std::string data = make_frame(data_frame, 0, id, std::string(bytes, 'x'));
        int count = 0;
        while (count < 10'000 && one.see(data) == -1)
            ++count;
        return count;
    };
    for (const auto& [bytes, most] : {std::pair(std::size_t{16'384}, 1'020), {1, 2'500}}) {
        CAPTURE(bytes);
        watched one;
        CHECK(one.see(headers_frame, end_headers, 1) == -1);
        const int of_one = taken(one, 1, bytes);
        CHECK(of_one > 1'000);
        CHECK(of_one < most);
        watched many; // no more may be under way than the connection's window lets through
        for (std::uint32_t id = 1; id < 100; id += 2)
            CHECK(many.see(headers_frame, end_headers, id) == -1);
        CHECK(taken(many, 1, bytes) - 1'000 == 4 * (of_one - 1'000) + (bytes == 1 ? 0 : 3));
    }
    watched again; // each that is given up has had a window
    for (std::uint32_t id = 1; id < 4'000; id += 2) {
        CHECK(again.see(headers_frame, end_headers, id) == -1);
        for (int i = 0; i < 15; ++i)
            CHECK(again.see(make_frame(data_frame, 0, id, std::string(16'384, 'x'))) == -1);
    }
    watched open;
    open.open = {1};
    CHECK(open.see(headers_frame, end_headers, 1) == -1);
    CHECK(taken(open, 1, 1) == 10'000);
}

TEST_CASE("frame_watch: what is unpacked for nothing costs by its bytes") {
    const auto taken = [](watched& one, std::uint32_t id, std::uint32_t step,
                          const std::string& block, std::uint8_t flags = end_headers) {
        int count = 0;
        while (count < 5'000 && one.see(make_frame(headers_frame, flags, id, block)) == -1) {
            ++count;
            id += step;
        }
        return count;
    };
    watched given_up;
    CHECK(given_up.see(headers_frame, end_headers, 1) == -1);
    CHECK(taken(given_up, 1, 0, "") == 1'000);
    watched large;
    CHECK(large.see(headers_frame, end_headers, 1) == -1);
    CHECK(taken(large, 1, 0, std::string(16'000, 'x')) == 1'000 / 16);
    watched open; // what cannot be trailers
    open.open = {1};
    CHECK(open.see(headers_frame, end_headers, 1) == -1);
    CHECK(taken(open, 1, 0, "") == 1'000);
    watched late; // trailers of streams that are given up
    for (std::uint32_t id = 1; id < 300; id += 2)
        CHECK(late.see(headers_frame, end_headers, id) == -1);
    CHECK(taken(late, 1, 2, std::string(16'000, 'x'), ends) == 1'000 / 16);
    watched trailers;
    for (std::uint32_t id = 1; id < 10'000; id += 2) {
        trailers.open = {id};
        CHECK(trailers.see(headers_frame, end_headers, id) == -1);
        CHECK(trailers.see(headers_frame, ends, id) == -1);
    }
    watched leaving; // behind the last GOAWAY
    leaving.last = 1;
    CHECK(taken(leaving, 3, 2, std::string(200, 'x'), ends) == 1'000);
    watched continued;
    continued.last = 1;
    std::uint32_t id = 3;
    const std::string rest(16'000, 'x');
    while (id < 1'000 && continued.see(make_frame(headers_frame, end_stream, id, "x") +
                                       make_frame(continuation_frame, end_headers, id, rest)) == -1)
        id += 2;
    CHECK((id - 3) / 2 == 1'000 / 17);
}

TEST_CASE("frame_watch: streams that have not ended are remembered while they are open") {
    http2_limits limits;
    limits.streams_max = 100;
    watched one(limits);
    one.open = {1, 3, 401};
    for (std::uint32_t i = 1; i < 3'000; i += 2)
        CHECK(one.see(headers_frame, end_headers, i) == -1);
    CHECK(one.see(data_frame, 0, 1) == -1);
    CHECK(one.see(data_frame, 0, 3) == -1);
    CHECK(one.see(data_frame, 0, 401) == -1);
    CHECK(one.see(data_frame, 0, 2'999) == -1);
    CHECK(one.see(data_frame, 0, 2'999 - 2 * 127) == -1);
    CHECK(one.see(data_frame, 0, 5) == 5);
}

TEST_CASE("frame_watch: nothing is between the frames of a header section") {
    for (const std::uint8_t type : {data_frame, headers_frame, priority_frame, reset_frame,
                                    settings_frame, ping_frame, goaway_frame, window_frame}) {
        watched one;
        CHECK(one.see(headers_frame, end_stream, 1) == -1);
        CHECK(one.see(continuation_frame, 0, 1) == -1);
        CHECK(one.see(type, ends, 1) == 1);
        watched other;
        CHECK(other.see(headers_frame, end_stream, 1) == -1);
        CHECK(other.see(continuation_frame, end_headers, 1) == -1);
        CHECK(other.see(window_frame, 0, 1) == -1);
    }
    watched unknown;
    CHECK(unknown.see(headers_frame, end_stream, 1) == -1);
    CHECK(unknown.see(0xbb, 0, 0) == 1);
}

TEST_CASE("frame_watch: streams that were prioritized before they began count as begun") {
    const auto prioritize = [](watched& one, std::uint32_t id) {
        return one.see(make_frame(0x10, 0, 0, number(id) + "u=1"));
    };
    watched one({.streams_max = 4});
    one.open = {1};
    CHECK(one.see(headers_frame, ends, 1) == -1);
    CHECK(prioritize(one, 1) == -1); // has begun
    CHECK(prioritize(one, 3) == -1);
    CHECK(prioritize(one, 9) == -1);
    CHECK(prioritize(one, 9) == -1); // the same
    CHECK(prioritize(one, 11) == -1);
    CHECK(one.see(headers_frame, ends, 5) == -1); // 3 is passed over
    one.open = {1, 5};
    CHECK(prioritize(one, 9) == -1);
    CHECK(prioritize(one, 13) == 1);
    watched lately({.streams_max = 1}); // what comes before it is read first
    const std::string bytes =
        make_frame(headers_frame, ends, 1, "x") + make_frame(0x10, 0, 0, number(3) + "u=1");
    const frame_watch::result seen = lately.watch.look(bytes, lately.now);
    CHECK_FALSE(seen.found);
    CHECK(seen.good == 9 + 1 + 9);
    lately.open = {1};
    CHECK(lately.see(bytes.substr(seen.good)) == 1);
}

TEST_CASE("frame_watch: what PRIORITY_UPDATE says is told, however it is cut") {
    const auto told = [](std::string bytes, std::size_t step) {
        watched one;
        std::string all;
        for (std::size_t at = 0; at < bytes.size();) {
            const frame_watch::result seen =
                one.watch.look(std::string_view(bytes).substr(at, step), one.now);
            if (seen.found)
                return all + std::to_string(static_cast<int>(seen.found->code));
            if (seen.updated)
                all +=
                    std::to_string(seen.updated->stream) + std::string(seen.updated->value) + ' ';
            at += seen.good;
        }
        return all;
    };
    const auto update = [](std::uint32_t id, std::string_view value, std::uint32_t on = 0) {
        return make_frame(0x10, 0, on, number(id) + std::string(value));
    };
    for (const std::size_t step : {1, 5, 13, 1'000}) {
        CAPTURE(step);
        CHECK(told(update(1, "u=1, i") + make_frame(headers_frame, ends, 1, "x") +
                       update(1, "u=2") + update(3, "") + make_frame(data_frame, end_stream, 5),
                   step) == "1u=1, i 1u=2 3 ");
        CHECK(told(update(0x80000001, "u=1"), step) == "1u=1 ");
        CHECK(told(update(1, std::string(60, 'x')), step) == '1' + std::string(60, 'x') + ' ');
        CHECK(told(update(1, std::string(61, 'x')) + update(3, "u"), step) == "3u ");
        CHECK(told(update(1, "") + update(0, "u=1"), step) == "1 1");
        CHECK(told(update(2, "u=1"), step) == "1");
        CHECK(told(update(1, "u=1", 1), step) == "1");
        CHECK(told(make_frame(0x10, 0, 0, "abc"), step) == "6");
        CHECK(told(make_frame(0x10, 0, 0), step) == "6");
        CHECK(told(make_frame(headers_frame, 0, 1, "x") + update(3, "u"), step) == "1");
    }
}

TEST_CASE("frame_watch: a client may say how urgent each request is") {
    watched one;
    for (std::uint32_t id = 1; id < 20'000; id += 2) {
        CHECK(one.see(make_frame(0x10, 0, 0, number(id) + "u=1")) == -1);
        CHECK(one.see(headers_frame, ends, id) == -1);
        one.watch.sent(9 + 5, false);
    }
    watched idle;
    int said = 0;
    while (said < 5'000 && idle.see(make_frame(0x10, 0, 0, number(1) + "u=1")) == -1)
        ++said;
    CHECK(said == 1'000);
}

TEST_CASE("frame_watch: no CONTINUATION is longer than any frame") {
    watched one;
    CHECK(one.see(headers_frame, 0, 1) == -1);
    CHECK(one.see(make_frame(continuation_frame, 0, 1, std::string(16'384, 'x'))) == -1);
    CHECK(one.see(make_frame(continuation_frame, 0, 1, std::string(16'385, 'x'))) == 6);
}

TEST_CASE("frame_watch: a client may open both windows for each frame of an answer") {
    const std::string words =
        make_frame(window_frame, 0, 0, number(5)) + make_frame(window_frame, 0, 1, number(5));
    watched small;
    for (int i = 0; i < 10'000; ++i) {
        small.watch.sent(9 + 5, false);
        CHECK(small.see(words) == -1);
    }
    watched large;
    for (int i = 0; i < 1'000; ++i) {
        large.watch.sent(9 + 16'384, true);
        for (int word = 0; word < 8; ++word)
            CHECK(large.see(words) == -1);
    }
    watched drip; // that a frame is short is the client's own doing
    int drops = 0;
    for (; drops < 10'000 && drip.see(words) == -1; ++drops)
        drip.watch.sent(9 + 5, true);
    CHECK(drops < 600);
    watched much; // of all that it has earned a client can save up so much, and no more
    for (int i = 0; i < 100'000; ++i)
        much.watch.sent(9 + 5, false);
    int said = 0;
    while (much.see(words) == -1)
        ++said;
    CHECK(said > 2'048);
    CHECK(said < 2'600);
}

} // namespace
} // namespace rota::http::h2
