#include <rota/coding/encoder.hpp>

#include <catch2/catch_test_macros.hpp>

#include "coders.hpp"

namespace rota::coding {
namespace {

using test::decode;
using test::encode;
using namespace std::string_literals;
using namespace std::string_view_literals;

TEST_CASE("every window can be read with one of that size, and not more") {
    const std::string text = test::prose(60'000) + test::noise(3'000) + test::prose(60'000);
    for (const format each : {format::deflate, format::zlib, format::gzip}) {
        for (int bits = 8; bits <= 15; ++bits) {
            CAPTURE(each, bits);
            const auto in = make_encoder({.to = each, .window_bits = bits});
            const auto out = make_decoder({.from = each, .window_bits = bits});
            // In small steps nothing but the window remembers.
            const auto found = decode(*out, encode(*in, text), 1, 1);
            CHECK(found.now == decoder::state::ended);
            CHECK(found.text == text);
        }
    }
}

TEST_CASE("a flush ends on an empty block, as RFC 7692 wants it") {
    for (const std::size_t room : {std::size_t{16}, std::size_t{4'096}}) {
        const auto in = make_encoder({.to = format::deflate});
        for (int i = 0; i < 100; ++i) {
            const std::string text = test::prose(static_cast<std::size_t>(i) * 7);
            const std::string coded = encode(*in, text, flush::sync, std::string::npos, room);
            if (!text.empty())
                CHECK(coded.ends_with("\0\0\xff\xff"sv));
        }
    }
}

TEST_CASE("messages refer to those before unless the encoder is reset") {
    const std::string text = test::noise(1'000);
    const auto in = make_encoder({.to = format::deflate});
    const auto out = make_decoder({.from = format::deflate});
    const std::string first = encode(*in, text, flush::sync);
    const std::string second = encode(*in, text, flush::sync);
    CHECK(second.size() < 100);
    CHECK(decode(*out, first).text == text);
    CHECK(decode(*out, second).text == text);
    in->reset();
    CHECK(encode(*in, text, flush::sync) == first);
    CHECK(decode(*out, first).text == text); // a decoder may go on
    out->reset();
    CHECK(decode(*out, second).now == decoder::state::corrupt);
}

TEST_CASE("behind a last block the window may stay") {
    const std::string text = test::noise(1'000);
    const auto in = make_encoder({.to = format::deflate});
    const auto out = make_decoder({.from = format::deflate});

    const std::string first = encode(*in, text, flush::sync);
    const std::string second = encode(*in, text, flush::sync);
    const std::string last = "\x03\0"s; // empty, and the last
    CHECK(decode(*out, first).text == text);
    CHECK(decode(*out, last).now == decoder::state::ended);
    out->reset_keeping_window();
    CHECK(decode(*out, second).text == text);
}

} // namespace
} // namespace rota::coding
