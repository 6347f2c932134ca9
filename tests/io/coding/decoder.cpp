#include <rota/coding/decoder.hpp>

#include <stdexcept>

#include <catch2/catch_test_macros.hpp>

#include "coders.hpp"

namespace rota::coding {
namespace {

using state = decoder::state;
using test::available_formats;
using test::decode;
using test::encode;
using namespace std::string_view_literals;

struct known {
    format from;
    std::string_view coded;
    std::string_view text;
};

/// As other programs write them.
constexpr known others[] = {
    {format::gzip,
     "\x1f\x8b\x08\0\0\0\0\0\0\x03\xcb\x48\xcd\xc9\xc9\x07\0\x86\xa6\x10\x36\x05\0\0\0"sv, "hello"},
    {format::gzip, // with a name and a comment
     "\x1f\x8b\x08\x18\0\0\0\0\0\x03name\0note\0"
     "\xcb\x48\xcd\xc9\xc9\x07\0\x86\xa6\x10\x36\x05\0\0\0"sv,
     "hello"},
    {format::zlib, "\x78\x9c\xcb\x48\xcd\xc9\xc9\x07\0\x06\x2c\x02\x15"sv, "hello"},
    {format::deflate, "\xcb\x48\xcd\xc9\xc9\x07\0"sv, "hello"},
    {format::deflate, "\x01\x05\0\xfa\xffhello"sv, "hello"}, // stored
    {format::br, "\x0b\x02\x80hello\x03"sv, "hello"},
    {format::br, "\x06"sv, ""},
    {format::zstd, "\x28\xb5\x2f\xfd\x20\x05\x29\0\0hello"sv, "hello"},
    {format::zstd, "\x50\x2a\x4d\x18\x03\0\0\0abc"sv, ""}, // what is to be skipped
};

TEST_CASE("what other programs write is read, whole and byte by byte") {
    for (const known& each : others) {
        if (!is_available(each.from))
            continue;
        const auto out = make_decoder({.from = each.from});
        for (const std::size_t size : {std::size_t{1}, std::size_t{1'000}}) {
            const auto found = decode(*out, each.coded, size, size);
            CHECK(found.now == state::ended);
            CHECK(found.text == each.text);
            out->reset();
        }
    }
}

TEST_CASE("what is cut short does not end, wherever it is cut") {
    const std::string text = test::prose(3'000);
    for (const format each : available_formats()) {
        const std::string coded = encode(*make_encoder({.to = each}), text);
        const auto out = make_decoder({.from = each});
        for (std::size_t size = 0; size < coded.size(); ++size) {
            const auto found = decode(*out, std::string_view(coded).substr(0, size));
            REQUIRE(found.now == state::more);
            REQUIRE(text.starts_with(found.text));
            out->reset();
        }
        CHECK(decode(*out, coded).now == state::ended);
    }
}

TEST_CASE("what is behind the end is left") {
    for (const format each : available_formats()) {
        const std::string coded = encode(*make_encoder({.to = each}), "a");
        for (const std::size_t size : {std::size_t{1}, std::size_t{1'000}}) {
            const auto out = make_decoder({.from = each});
            const auto found = decode(*out, coded + "rest", size);
            CHECK(found.now == state::ended);
            CHECK(found.text == "a");
            CHECK(found.left == 4);
        }
    }
}

TEST_CASE("what is none of the format is corrupt, and no reason to crash") {
    for (const format each : available_formats()) {
        const auto out = make_decoder({.from = each});
        int corrupt = 0;
        for (std::uint64_t seed = 1; seed <= 200; ++seed) {
            corrupt += decode(*out, test::noise(500, seed)).now == state::corrupt ? 1 : 0;
            out->reset();
        }
        CHECK(corrupt > (each == format::br || each == format::deflate ? 100 : 190));
    }
}

TEST_CASE("one wrong bit is found by the checksum, or changes nothing but the text") {
    const std::string text = test::prose(500);
    for (const format each : available_formats()) {
        const std::string coded = encode(*make_encoder({.to = each}), text);
        const auto out = make_decoder({.from = each});
        for (std::size_t bit = 0; bit < coded.size() * 8; ++bit) {
            std::string wrong = coded;
            wrong[bit / 8] = static_cast<char>(wrong[bit / 8] ^ (1 << bit % 8));
            const auto found = decode(*out, wrong);
            const bool has_sum = each == format::gzip || each == format::zlib;
            if (has_sum && found.now == state::ended)
                REQUIRE(found.text == text);
            out->reset();
        }
        CHECK(decode(*out, coded).text == text);
    }
}

TEST_CASE("a window beyond what is allowed is refused, not made") {
    const std::string text = test::prose(200'000);
    if (is_available(format::zstd)) {
        const std::string coded =
            encode(*make_encoder({.to = format::zstd, .window_bits = 17}), text, flush::sync);
        const auto narrow = make_decoder({.from = format::zstd, .window_bits = 16});
        CHECK(decode(*narrow, coded).now == state::corrupt);
        // 16 MiB: by RFC 9659 that is too much.
        const auto usual = make_decoder({.from = format::zstd});
        CHECK(decode(*usual, "\x28\xb5\x2f\xfd\0\x70"sv).now == state::corrupt);
        CHECK(usual->memory() < 1'048'576);
    }
    if (is_available(format::zlib)) {
        const std::string coded = encode(*make_encoder({.to = format::zlib}), text);
        const auto narrow = make_decoder({.from = format::zlib, .window_bits = 9});
        CHECK(decode(*narrow, coded).now == state::corrupt);
    }
}

TEST_CASE("what br has made is given without further work, whatever room there is") {
    if (!is_available(format::br))
        return;
    const std::string text = test::prose(700'000) + test::noise(100'000);
    for (const int window : {10, 16, 18, 24}) {
        const auto in = make_encoder({.to = format::br, .level = 9, .window_bits = window});
        const std::string coded = encode(*in, text);
        const auto out = make_decoder({.from = format::br});
        CHECK(out->may_take_long());
        for (const std::size_t room : {1U, 1'000U, 4'096U, 65'537U, 1'000'000U}) {
            for (const std::size_t piece : {1'000U, 1'000'000U}) {
                const auto found = decode(*out, coded, piece, room);
                CHECK(found.text == text);
                CHECK(found.now == state::ended);
                out->reset();
            }
        }
        std::string room(100, '\0');
        const auto first = out->decode(coded, room);
        REQUIRE(first.written == room.size());
        CHECK(!out->may_take_long());
        const auto second = out->decode(std::string_view(coded).substr(first.read), room);
        CHECK(second.read == 0);
        CHECK(second.written == room.size());
    }
}

TEST_CASE("a bomb is decoded step by step, in memory that does not grow with it") {
    const std::string zeros(1'048'576, '\0');
    for (const format each : available_formats()) {
        const auto in = make_encoder({.to = each});
        std::string coded;
        for (int i = 0; i < 16; ++i)
            coded += encode(*in, zeros, i < 15 ? flush::none : flush::end);
        const auto out = make_decoder({.from = each});
        std::string room(4'096, '\1');
        std::size_t total = 0;
        std::string_view rest = coded;
        for (state now = state::more; now == state::more;) {
            const auto step = out->decode(rest, room);
            rest.remove_prefix(step.read);
            total += step.written;
            now = step.now;
            REQUIRE(step.written <= room.size());
            REQUIRE(out->memory() < 2'097'152);
        }
        CHECK(total == 16 * zeros.size());
    }
}

} // namespace
} // namespace rota::coding
