// What clients want first, and how it is said.

#include "priority.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "client.hpp"

namespace rota::http {
namespace {

using namespace test;

std::string shown_priority(std::string_view value) {
    const std::optional<h2::stream_priority> found = h2::read_priority(value);
    if (!found)
        return "none";
    return std::to_string(found->urgency) + (found->incremental ? "i" : "");
}

TEST_CASE("http2: a parameter of a priority that is wrong is ignored alone") {
    const std::vector<std::pair<std::string_view, std::string_view>> cases{
        {"", "3"},
        {"  ", "3"},
        {"u=0", "0"},
        {"u=7, i", "7i"},
        {" u=5 ,\t i=?1 ", "5i"},
        {"i;q=1;r, u=1;s=?0", "1i"},
        {"i=?0, u=2", "2"},
        {"u=8, i", "3i"},
        {"u=-1, i", "3i"},
        {"u=1.0, i", "3i"},
        {"u=\"1\", i", "3i"},
        {"u, i", "3i"},
        {"u=10, i", "3i"},
        {"u=1, i=1", "1"},
        {"u=1, i=yes", "1"},
        {"u=5, u=1", "1"},
        {"u=5, u=9", "3"},
        {"i, i=?0", "3"},
        {"u=0, i=3", "0"},
        {"foo=(1 2.5 \"a\\\"b\" tok/en:x :YQ==: ?1);p=a, u=2, *b-_.*=*t, i", "2i"},
        {"foo=(), u=2", "2"},
        {"foo=( 1;a  2 );b, u=2", "2"},
        {"foo=-123456789012.123, bar=:aGk=:, u=2", "2"},
    };
    for (const auto& [value, expected] : cases) {
        CAPTURE(value);
        CHECK(shown_priority(value) == expected);
    }
}

TEST_CASE("http2: a priority that is no dictionary is ignored as a whole") {
    for (const std::string_view value : {"u=1,",      "u=1,,i",
                                         ",u=1",      "U=1",
                                         "u=1 i",     "u=",
                                         "u=1;",      "u=?2",
                                         "i=?2, u=1", "u=\"1",
                                         "u=\"\\a\"", "u=1.",
                                         "u=1.2345",  "u=1234567890123456",
                                         "u=--1",     "u=(1",
                                         "u=(1 2",    "u=(1\t2)",
                                         "u=(1,2)",   "u=:YQ",
                                         "u=:!:",     "u=1;A",
                                         "u=1; ;a",   "=1",
                                         "u=\x80",    "u= 1",
                                         "u =1",      "u=junk!@",
                                         "1",         "u=1, i\x01",
                                         "u=1.5.5",   "u=-"}) {
        CAPTURE(value);
        CHECK(shown_priority(value) == "none");
    }
    CHECK_FALSE(h2::read_priority(std::string_view("u=1\0", 4)));
}

TEST_CASE("http2: a priority may be said in several fields") {
    std::optional<h2::stream_priority> all = h2::read_priority("u=5, i");
    REQUIRE(all);
    all = h2::read_priority("u=1, x", *all);
    REQUIRE(all);
    CHECK(all->urgency == 1);
    CHECK(all->incremental);
}

/// Streams 3 and 5 wait for a window of the connection, which opens for one of them.
struct two_waiting {
    http2_client c{routes(), {}, false};

    two_waiting(std::initializer_list<field> first, std::initializer_list<field> second,
                std::string_view before = {}) {
        c.hello(number(4, 2) + number(1'000'000));
        c.ask(1, asking("GET", "/65535"));
        if (!before.empty())
            update(5, before);
        c.ask(3, asking("GET", "/10000", first));
        c.ask(5, asking("GET", "/10000", second));
    }
    void update(std::uint32_t id, std::string_view value) {
        c.send(make_frame(0x10, 0, 0, number(id) + std::string(value)));
    }
    /// Which gets it; 0: both.
    std::uint32_t served() {
        c.open_window(0, 10'000);
        CHECK(c.goaway() == -1);
        const std::size_t one = c.answers[3].content.size();
        return one == 10'000 ? 3 : one == 0 ? 5 : 0;
    }
    static router routes() {
        router made;
        made.get("/{bytes}", [](const request& asked) {
            return response::text(std::string(asked.param<std::size_t>("bytes"), 'x'));
        });
        return made;
    }
};

TEST_CASE("http2: what is urgent goes first, by field or by frame") {
    CHECK(two_waiting({}, {}).served() == 3);
    CHECK(two_waiting({}, {{"priority", "u=2"}}).served() == 5);
    CHECK(two_waiting({{"priority", "u=9, i"}}, {{"priority", "u=2"}}).served() == 5);
    CHECK(two_waiting({}, {{"priority", "i=4, u=2"}}).served() == 5);
    CHECK(two_waiting({}, {{"priority", "i=4"}, {"priority", "u=2"}}).served() == 5);
    CHECK(two_waiting({}, {{"priority", "u=2"}, {"priority", "u=2,"}}).served() == 3);
    // RFC 9218 section 7: the frame is the later word.
    CHECK(two_waiting({}, {}, "u=1").served() == 5);
    CHECK(two_waiting({}, {}, "u=1, i=4").served() == 5);
    CHECK(two_waiting({}, {{"priority", "u=7"}}, "u=1").served() == 5);
    CHECK(two_waiting({}, {{"priority", "u=1"}}, "u=7").served() == 3);
    CHECK(two_waiting({}, {{"priority", "u=1"}}, "u=1,").served() == 5); // it was no word
    two_waiting later({{"priority", "u=1"}}, {{"priority", "u=2"}});
    later.update(3, "x=2"); // which is all that it wants: the rest is as where nothing is said
    CHECK(later.served() == 5);
    two_waiting broken({{"priority", "u=1"}}, {{"priority", "u=2"}});
    broken.update(3, "u=7,");
    CHECK(broken.served() == 3);
    two_waiting partly({}, {});
    partly.update(5, "u=2, i=7");
    CHECK(partly.served() == 5);
}

TEST_CASE("http2: streams that were given up leave room for a priority, however frames arrive") {
    const auto ask = [](std::uint32_t id) {
        return make_frame(headers_frame, end_headers | end_stream, id, encode(asking("GET", "/1")));
    };
    std::string given_up;
    std::string open;
    for (std::uint32_t id = 1; id < 257; id += 2) {
        given_up += ask(id) + make_frame(reset_frame, 0, id, number(8));
        open += ask(id);
    }
    const std::string update = make_frame(0x10, 0, 0, number(1'001) + "u=1");
    http2_client room(two_waiting::routes());
    room.send(given_up + update + ask(1'001));
    CHECK(room.goaway() == -1);
    CHECK(room.answers[1'001].content == "x");
    http2_client none(two_waiting::routes());
    none.send(open + update);
    CHECK(none.goaway() == 1);
}

} // namespace
} // namespace rota::http
