#include "inflater.hpp"

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

#include <catch2/catch_test_macros.hpp>
#include <rota/coding/format.hpp>

#include <rota/http/detail/summable.hpp>

#include "deflater.hpp"
#include "message_reader.hpp"

namespace rota::http::ws {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t room = 1'000;

/// What one message comes to, fed in pieces of `step` bytes; "corrupt" or "too big".
std::string inflated_by(inflater& by, std::string_view coded, std::size_t step = 1) {
    std::string out;
    for (std::size_t i = 0; i < coded.size(); i += step) {
        std::string_view piece = coded.substr(i, step);
        const auto now = by.put(piece, out, room);
        CHECK((now != inflater::result::good || piece.empty()));
        if (now != inflater::result::good)
            return now == inflater::result::corrupt ? "corrupt" : "too big";
    }
    return by.end(out, room) == inflater::result::good ? out : "corrupt";
}

TEST_CASE("the examples of RFC 7692 section 7.2.3") {
    if (!coding::is_available(coding::format::deflate))
        return;
    for (const std::size_t step : {1U, 3U, 100U}) {
        inflater in(15, true);
        CHECK(inflated_by(in, "\xf2\x48\xcd\xc9\xc9\x07\x00"sv, step) == "Hello");
        CHECK(inflated_by(in, "\xf2\x00\x11\x00\x00"sv, step) == "Hello"); // by the window
        in.rest();
        CHECK(inflated_by(in, "\xf2\x00\x11\x00\x00"sv, step) == "Hello");
        // No compression, the last block said to be so, two blocks.
        CHECK(inflated_by(in, "\x00\x05\x00\xfa\xff\x48\x65\x6c\x6c\x6f\x00"sv, step) == "Hello");
        CHECK(inflated_by(in, "\xf3\x48\xcd\xc9\xc9\x07\x00\x00"sv, step) == "Hello");
        CHECK(inflated_by(in, "\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00"sv, step) ==
              "Hello");
        CHECK(inflated_by(in, "\x00"sv, step).empty());
        CHECK(inflated_by(in, ""sv, step).empty());
        CHECK(inflated_by(in, "\xf2\x48\xcd\xc9\xc9\x07\x00"sv, step) == "Hello");
    }
}

TEST_CASE("without a context nothing can be referred to") {
    if (!coding::is_available(coding::format::deflate))
        return;
    inflater in(15, false);
    CHECK(inflated_by(in, "\xf2\x48\xcd\xc9\xc9\x07\x00"sv) == "Hello");
    CHECK(inflated_by(in, "\xf2\x00\x11\x00\x00"sv) == "corrupt");
}

TEST_CASE("what is no deflate, and what grows") {
    if (!coding::is_available(coding::format::deflate))
        return;
    inflater in(15, true);
    CHECK(inflated_by(in, "\xff\xff\xff\xff"sv) == "corrupt");
    deflater of({.to = coding::format::deflate}, false);
    for (const std::size_t size : {room, room + 1, 100 * room, 10'000 * room}) {
        std::string coded;
        of.put(std::string(size, 'x'), coded);
        inflater bounded(15, true);
        std::string out;
        std::string_view rest = coded;
        const auto now = bounded.put(rest, out, room);
        CHECK((now == inflater::result::too_big) == (size > room));
        CHECK(out.size() <= room + 1);
    }
}

TEST_CASE("a message that is cut short is none, wherever that is") {
    if (!coding::is_available(coding::format::deflate))
        return;
    std::string text;
    for (int i = 0; i < 300; ++i)
        text += std::to_string(i * i) + ' ';
    deflater of({.to = coding::format::deflate}, false);
    std::string coded;
    of.put(text, coded);
    for (std::size_t size = 1; size < coded.size(); ++size) {
        INFO(size);
        inflater in(15, true);
        std::string_view rest = std::string_view(coded).substr(0, size);
        std::string out;
        REQUIRE(in.put(rest, out, 10'000) == inflater::result::good);
        CHECK(in.end(out, 10'000) == inflater::result::corrupt);
    }
    inflater in(15, true);
    CHECK(inflated_by(in, "\xf2\x48\xcd"sv) == "corrupt");
}

TEST_CASE("a message may be without end") {
    if (!coding::is_available(coding::format::deflate))
        return;
    constexpr std::size_t endless = summable(std::numeric_limits<std::size_t>::max());
    message_reader reader(std::numeric_limits<std::size_t>::max(), inflate_terms{15, true});
    const std::string frame("\xc1\x87\0\0\0\0\xf2\x48\xcd\xc9\xc9\x07\x00", 13);
    const message_reader::step step = reader.take(frame);
    CHECK(step.what == message_reader::found::message);
    CHECK(reader.content() == "Hello");
    inflater in(15, true);
    std::string_view rest("\xf2\x48\xcd\xc9\xc9\x07\x00", 7);
    std::string out;
    CHECK(in.put(rest, out, endless) == inflater::result::good);
    CHECK(in.end(out, endless) == inflater::result::good);
    CHECK(out == "Hello");
}

TEST_CASE("of what grows much it makes a little at a time") {
    if (!coding::is_available(coding::format::deflate))
        return;
    constexpr std::size_t size = 8'000'000;
    deflater of({.to = coding::format::deflate}, false);
    std::string coded;
    of.put(std::string(size, 'x'), coded);
    inflater in(15, true);
    std::string out;
    std::size_t steps = 0;
    for (std::string_view rest = coded; !rest.empty(); ++steps) {
        const std::size_t before = out.size();
        REQUIRE(in.put(rest, out, size) == inflater::result::good);
        REQUIRE(out.size() - before < 200'000);
    }
    CHECK(in.end(out, size) == inflater::result::good);
    CHECK(out == std::string(size, 'x'));
    CHECK(steps >= size / 200'000);
}

TEST_CASE("at rest it holds what can be referred to, and no more") {
    if (!coding::is_available(coding::format::deflate))
        return;
    for (const bool keeps : {true, false}) {
        inflater in(15, keeps);
        CHECK(in.memory() < 64);
        CHECK_FALSE(in.may_rest());
        std::string begun;
        std::string_view first = "\xf2\x48\xcd";
        CHECK(in.put(first, begun, 100) == inflater::result::good);
        CHECK_FALSE(in.may_rest()); // within a message
        CHECK(begun + inflated_by(in, "\xc9\xc9\x07\x00"sv) == "Hello");
        CHECK(in.memory() > 32'768);
        CHECK(in.may_rest());
        in.rest();
        CHECK(in.memory() < 64);
        CHECK_FALSE(in.may_rest());
    }
}

} // namespace
} // namespace rota::http::ws
