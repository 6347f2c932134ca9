#include "frame.hpp"

#include <catch2/catch_test_macros.hpp>

#include "client_frames.hpp"

namespace rota::http::ws {
namespace {

using test::frame;
using test::made;

TEST_CASE("heads in every length form, at every cut") {
    for (const std::size_t size : {0U, 1U, 125U, 126U, 127U, 65'535U, 65'536U, 70'000U}) {
        const std::string all = frame(std::string(size, 'x'), {.op = 2});
        const std::size_t head_size = all.size() - size;
        for (std::size_t cut = 0; cut <= head_size; ++cut) {
            head_reader reader(false);
            REQUIRE(reader.take(std::string_view(all).substr(0, cut)) == cut);
            REQUIRE(reader.complete() == (cut == head_size));
            REQUIRE(reader.take(std::string_view(all).substr(cut)) == head_size - cut);
            REQUIRE(reader.complete());
            CHECK(reader.head().length == size);
            CHECK(reader.head().op == opcode::binary);
            CHECK(reader.head().last);
            CHECK(reader.head().mask == mask_key{'\x12', '\xfe', '\x00', '\x7f'});
        }
    }
}

/// After how many bytes it finds a fault; 0 if it finds none.
std::size_t fault_at(std::string_view bytes, bool compression = false) {
    head_reader reader(compression);
    for (std::size_t i = 0; i < bytes.size() && !reader.complete(); ++i) {
        (void)reader.take(bytes.substr(i, 1));
        if (reader.fault().code != 0) {
            CHECK(reader.fault().code == close_code::protocol_error);
            return i + 1;
        }
    }
    return 0;
}

TEST_CASE("what must not be in a head") {
    for (int op = 0; op < 16; ++op) {
        const bool known = op == 1 || op == 2 || (op >= 8 && op <= 10); // 0 continues nothing
        CHECK(fault_at(frame("", {.op = op})) == (known ? 0 : 1));
        CHECK(fault_at(frame("", {.op = op, .fin = false})) == (known && op < 8 ? 0 : 1));
        CHECK(fault_at(frame("", {.op = op, .masked = false})) == (known ? 2 : 1));
        for (int rsv = 1; rsv < 8; ++rsv) {
            CHECK(fault_at(frame("", {.op = op, .rsv = rsv})) == 1);
            const bool may = rsv == 4 && (op == 1 || op == 2);
            CHECK(fault_at(frame("", {.op = op, .rsv = rsv}), true) == (may ? 0 : 1));
        }
    }
    for (const int op : {8, 9, 10}) {
        CHECK(fault_at(frame(std::string(125, 'x'), {.op = op})) == 0);
        CHECK(fault_at(frame(std::string(126, 'x'), {.op = op})) == 2);
        CHECK(fault_at(frame("x", {.op = op})) == (op == 8 ? 2 : 0));
    }
}

TEST_CASE("frames in their sequence") {
    head_reader reader(true);
    const auto wrong = [&](made how) {
        reader.begin();
        const std::size_t taken = reader.take(frame("", how));
        CHECK(reader.complete() != (taken == 1));
        return !reader.complete();
    };
    CHECK_FALSE(wrong({.op = 1}));
    CHECK_FALSE(wrong({.op = 1, .fin = false, .rsv = 4}));
    CHECK_FALSE(wrong({.op = 9}));
    CHECK_FALSE(wrong({.op = 0, .fin = false}));
    CHECK_FALSE(wrong({.op = 8}));
    CHECK_FALSE(wrong({.op = 0}));
    CHECK_FALSE(wrong({.op = 10}));
    CHECK_FALSE(wrong({.op = 2, .fin = false}));
    for (const int op : {1, 2}) {
        for (const bool fin : {true, false}) {
            head_reader within(false);
            CHECK(within.take(frame("", {.fin = false})) == 6);
            within.begin();
            CHECK(within.take(frame("", {.op = op, .fin = fin})) == 1);
            CHECK(within.fault().code == close_code::protocol_error);
        }
    }
}

TEST_CASE("lengths in more bytes than they need") {
    CHECK(fault_at(frame(std::string(125, 'x'), {.length_bytes = 2})) == 4);
    CHECK(fault_at(frame("", {.length_bytes = 2})) == 4);
    CHECK(fault_at(frame(std::string(126, 'x'), {.length_bytes = 2})) == 0);
    CHECK(fault_at(frame(std::string(126, 'x'), {.length_bytes = 8})) == 8);
    CHECK(fault_at(frame(std::string(65'535, 'x'), {.length_bytes = 8})) == 8);
    CHECK(fault_at(std::string_view("\x82\xff\x80\0\0\0\0\0\0\0abcd", 14)) == 3);
    CHECK(fault_at(std::string_view("\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff"
                                    "abcd",
                                    14)) == 0);
}

TEST_CASE("a length is as much as is certain of it") {
    head_reader reader(false);
    std::uint64_t least = 0;
    for (const char digit : std::string("\x82\xff\0\0\0\1\2\3\4\5", 10)) {
        CHECK(reader.take({&digit, 1}) == 1);
        CHECK(reader.head().length >= least);
        least = reader.head().length;
        CHECK((least <= 0x01'02'03'04'05 && (least == 0 || least >= 0x01'00'00'00'00)));
    }
    CHECK(least == 0x01'02'03'04'05);
    CHECK_FALSE(reader.complete());
}

TEST_CASE("codes that a close frame may carry") {
    for (unsigned code = 0; code <= 0xffff; ++code) {
        const bool may = (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
                         (code >= 3000 && code <= 4999);
        REQUIRE(may_be_sent(static_cast<std::uint16_t>(code)) == may);
    }
}

TEST_CASE("heads that are written are those that clients read") {
    for (const std::size_t size : {0U, 125U, 126U, 65'535U, 65'536U, 1U << 24}) {
        const std::string all = frame(std::string(size, 'x'), {.op = 1, .masked = false});
        CHECK(write_head(opcode::text, false, size).view() == all.substr(0, all.size() - size));
    }
    CHECK(write_head(opcode::binary, true, 5).view() == "\xc2\x05");
    CHECK(close_payload(1000, "bye") == "\x03\xe8"
                                        "bye");
    CHECK(close_payload(0, "").empty());
}

} // namespace
} // namespace rota::http::ws
