#include "inflater.hpp"

#include <catch2/catch_test_macros.hpp>
#include <rota/coding/format.hpp>

#include "deflater.hpp"

namespace rota::http::ws {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t room = 1'000;

/// What one message comes to, fed in pieces of `step` bytes; "corrupt" or "too big".
std::string inflated_by(inflater& by, std::string_view coded, std::size_t step = 1) {
    std::string out;
    for (std::size_t i = 0; i < coded.size(); i += step) {
        const auto now = by.put(coded.substr(i, step), out, room);
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
        const auto now = bounded.put(coded, out, room);
        CHECK((now == inflater::result::too_big) == (size > room));
        CHECK(out.size() <= room + 1);
    }
}

TEST_CASE("at rest it holds what can be referred to, and no more") {
    if (!coding::is_available(coding::format::deflate))
        return;
    for (const bool keeps : {true, false}) {
        inflater in(15, keeps);
        CHECK(in.memory() < 64);
        CHECK_FALSE(in.may_rest());
        std::string begun;
        CHECK(in.put("\xf2\x48\xcd"sv, begun, 100) == inflater::result::good);
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
