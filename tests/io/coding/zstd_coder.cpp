#include <rota/coding/decoder.hpp>

#include <cstdint>
#include <string>
#include <string_view>

#include <catch2/catch_test_macros.hpp>

#include "coders.hpp"

namespace rota::coding {
namespace {

using state = decoder::state;
using test::decode;
using namespace std::string_literals;
using namespace std::string_view_literals;

/// The last block of a frame, as it is.
std::string last_block(std::string_view text) {
    const std::size_t head = text.size() << 3U | 1U;
    std::string block{static_cast<char>(head), static_cast<char>(head >> 8U), '\0'};
    return block.append(text);
}

const std::string plain = "\x28\xb5\x2f\xfd\x20\x05"s + last_block("hello");
const std::string skipped = "\x5f\x2a\x4d\x18\x03\0\0\0abc"s;
const std::string skipped_empty = "\x50\x2a\x4d\x18\0\0\0\0"s;

/// Of all contents in a row, begun anew behind each that ends; each call gets `size` bytes, but for
/// the first, which gets `first`.
test::decoded decode_all(decoder& with, std::string_view coded, std::size_t first,
                         std::size_t size) {
    test::decoded all;
    std::string room(4'096, '\0');
    std::size_t next = first;
    with.reset();
    while (!coded.empty()) {
        const std::string_view piece = coded.substr(0, next);
        const decoder::result step = with.decode(piece, room);
        all.text.append(room, 0, step.written);
        all.now = step.now;
        coded.remove_prefix(step.read);
        next = step.read < piece.size() ? piece.size() - step.read : size;
        if (step.now == state::corrupt)
            break;
        if (step.now == state::ended)
            with.reset();
    }
    all.left = coded.size();
    return all;
}

/// What it comes to, wherever it is cut into two, and byte by byte.
void check_cut(std::string_view coded, state now, std::string_view text) {
    const auto out = make_decoder({.from = format::zstd});
    for (std::size_t cut = 1; cut <= coded.size(); ++cut) {
        for (const std::size_t size : {std::size_t{1}, coded.size()}) {
            const test::decoded found = decode_all(*out, coded, cut, size);
            CHECK(found.now == now);
            CHECK(found.text == text);
            CHECK(out->memory() < 1'048'576);
        }
    }
}

TEST_CASE("headers of all lengths are read, wherever they are cut") {
    for (unsigned descriptor = 0; descriptor < 256; descriptor += 0x20) {
        const bool single = (descriptor & 0x20U) != 0;
        const std::size_t length_bytes =
            descriptor < 0x40 ? (single ? 1 : 0) : 1U << (descriptor >> 6U);
        const std::string text(descriptor >= 0x40 && descriptor < 0x80 ? 261 : 5, 'a');
        std::string frame = "\x28\xb5\x2f\xfd"s + static_cast<char>(descriptor);
        if (!single)
            frame += '\x38';
        std::size_t length = length_bytes == 2 ? text.size() - 256 : text.size();
        for (std::size_t i = 0; i < length_bytes; ++i, length >>= 8U)
            frame += static_cast<char>(length);
        check_cut(frame + last_block(text), state::ended, text);
    }
}

TEST_CASE("several frames and what is to be skipped may follow each other") {
    check_cut(plain + plain, state::ended, "hellohello");
    check_cut(skipped + plain + skipped_empty + plain + skipped, state::ended, "hellohello");
    check_cut(skipped_empty, state::ended, "");
}

TEST_CASE("frames of the formats before RFC 8878 are corrupt, first or later") {
    for (const std::string_view magic :
         {"\xfd\x2f\xb5\x1e"sv, "\x1e\xb5\x2f\xfd"sv, "\x22\xb5\x2f\xfd"sv, "\x23\xb5\x2f\xfd"sv,
          "\x24\xb5\x2f\xfd"sv, "\x25\xb5\x2f\xfd"sv, "\x26\xb5\x2f\xfd"sv, "\x27\xb5\x2f\xfd"sv,
          "\x29\xb5\x2f\xfd"sv, "\x60\x2a\x4d\x18"sv, "\x4f\x2a\x4d\x18"sv}) {
        // As v0.7: a window of 128 MiB, one block as it is, and the end.
        const std::string frame = std::string(magic) + "\0\x88\x40\0\5hello\xc0\0\0"s;
        check_cut(frame, state::corrupt, "");
        check_cut(plain + frame, state::corrupt, "hello");
        check_cut(skipped + frame, state::corrupt, "");
    }
}

TEST_CASE("a window beyond what is allowed is refused, however much comes at once") {
    // 16 MiB, of a frame that says that it is 5 bytes long.
    const std::string frame = "\x28\xb5\x2f\xfd\x80\x70\5\0\0\0"s + last_block("hello");
    check_cut(frame, state::corrupt, "");
    check_cut(plain + frame, state::corrupt, "hello");
}

TEST_CASE("a frame that is shorter than its header says is corrupt, however it ends") {
    const std::string head = "\x28\xb5\x2f\xfd\x20"s; // the length follows
    const std::string hello = "\x28\0\0hello"s;       // a block that is not the last
    const std::string end = "\1\0\0"s;                // one that is, and empty
    for (const char* const length : {"\6", "\xde"}) {
        check_cut(head + length + hello + end, state::corrupt, "hello");
        check_cut(head + length + hello + end + plain, state::corrupt, "hello");
        check_cut(plain + head + length + end, state::corrupt, "hello");
    }
    check_cut(head + '\5' + hello + end + plain, state::ended, "hellohello");
    check_cut(head + '\0' + end + skipped + plain, state::ended, "hello");
}

TEST_CASE("nothing behind the magic is taken for a frame of its own") {
    // Its descriptor, window and length read as the magic of what is to be skipped.
    const std::string frame = "\x28\xb5\x2f\xfd\x50\x2a\x4d\x18"s + std::string(40, '\1');
    const auto out = make_decoder({.from = format::zstd});
    const test::decoded whole = decode(*out, frame);
    for (std::size_t cut = 1; cut < frame.size(); ++cut) {
        const test::decoded found = decode_all(*out, frame, cut, frame.size());
        CHECK(found.now == whole.now);
        CHECK(found.text == whole.text);
    }
}

TEST_CASE("a header that a reset cut short is forgotten") {
    const auto out = make_decoder({.from = format::zstd});
    for (std::size_t size = 0; size < plain.size(); ++size) {
        CHECK(decode(*out, std::string_view(plain).substr(0, size)).now == state::more);
        out->reset();
        CHECK(decode(*out, plain).text == "hello");
        out->reset();
    }
}

} // namespace
} // namespace rota::coding
