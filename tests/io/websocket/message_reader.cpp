#include "message_reader.hpp"

#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <rota/coding/format.hpp>

#include "client_frames.hpp"
#include "deflater.hpp"

namespace rota::http::ws {
namespace {

using test::close_frame;
using test::frame;
using test::made;
using found = message_reader::found;

constexpr std::size_t most = 1'000;

/// What comes of `bytes` in pieces of the sizes `first`, and then `step`: "text(..)", "binary(..)",
/// "ping(..)", "pong(..)", "close(..)", and at last "1002" or whatever is wrong.
std::string read(std::string_view bytes, std::size_t first, std::size_t step, bool deflate = false,
                 std::size_t* failed_behind = nullptr) {
    message_reader reader(most, deflate ? std::optional(inflate_terms{}) : std::nullopt);
    std::string out;
    std::size_t at = 0;
    std::size_t piece = first;
    while (at < bytes.size()) {
        std::string_view in = bytes.substr(at, piece);
        piece = step;
        at += in.size();
        for (bool again = true; again;) {
            const auto now = reader.take(in);
            in.remove_prefix(now.taken);
            again = !in.empty() || now.what == found::busy;
            if (now.what == found::failed) {
                if (failed_behind != nullptr)
                    *failed_behind = at - in.size();
                return out + std::to_string(reader.fault().code);
            }
            if (now.what == found::message) {
                out +=
                    (reader.is_text() ? "text(" : "binary(") + std::string(reader.content()) + ") ";
                reader.forget_content();
            } else if (now.what == found::control) {
                const auto op = reader.control_op();
                out += op == opcode::ping ? "ping(" : op == opcode::pong ? "pong(" : "close(";
                out += std::string(reader.control()) + ") ";
            } else if (now.what == found::more) {
                CHECK(in.empty());
            }
        }
    }
    return out;
}

/// The same whatever pieces it comes in.
std::string read(std::string_view bytes, bool deflate = false) {
    const std::string whole = read(bytes, bytes.size(), 1, deflate);
    if (bytes.size() < 300) {
        for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
            CHECK(read(bytes, cut, bytes.size(), deflate) == whole);
            CHECK(read(bytes, cut, 1, deflate) == whole);
        }
    }
    return whole;
}

TEST_CASE("what stands before a control frame is shown before it") {
    message_reader reader(most);
    const std::string all = frame("ab", {.fin = false}) + frame("", {.op = 9}) +
                            frame("", {.op = 0, .fin = false}) + frame("", {.op = 10});
    std::string_view in = all;
    const auto take = [&] {
        const auto now = reader.take(in);
        in.remove_prefix(now.taken);
        return now.what;
    };
    CHECK(take() == found::piece);
    CHECK(reader.content() == "ab");
    reader.forget_content();
    CHECK(take() == found::control);
    CHECK(reader.control_op() == opcode::ping);
    CHECK(take() == found::control); // of no content there is no piece
    CHECK(reader.control_op() == opcode::pong);
    CHECK(in.empty());
}

constexpr made more{.fin = false};
constexpr made goes_on{.op = 0, .fin = false};
constexpr made last{.op = 0};
constexpr made ping{.op = 9};

TEST_CASE("messages, and control frames between their fragments") {
    CHECK(read(frame("hi")) == "text(hi) ");
    CHECK(read(frame("")) == "text() ");
    CHECK(read(frame("\xff\xfe", {.op = 2})) == "binary(\xff\xfe) ");
    CHECK(read(frame("a") + frame("b", {.op = 2}) + frame("c")) == "text(a) binary(b) text(c) ");
    CHECK(read(frame("a", more) + frame("b", goes_on) + frame("c", last)) == "text(abc) ");
    CHECK(read(frame("", more) + frame("", goes_on) + frame("", last)) == "text() ");
    CHECK(read(frame("a", more) + frame("p", ping) + frame("b", goes_on) + frame("", ping) +
               frame("c", last)) == "ping(p) ping() text(abc) ");
    CHECK(read(frame("", {.op = 10})) == "pong() ");
    CHECK(read(close_frame(1000, "bye")) == "close(\x03\xe8"
                                            "bye) ");
    CHECK(read(frame("", {.op = 8}) + frame("x")) == "close() text(x) ");
    CHECK(read(frame(std::string(most, 'x'))) == "text(" + std::string(most, 'x') + ") ");
}

TEST_CASE("what breaks the protocol") {
    CHECK(read(frame("x", last)) == "1002");
    CHECK(read(frame("x", goes_on)) == "1002");
    CHECK(read(frame("a") + frame("x", last)) == "text(a) 1002");
    CHECK(read(frame("a", more) + frame("b")) == "1002");
    CHECK(read(frame("a", more) + frame("b", {.op = 2, .fin = false})) == "1002");
    CHECK(read(frame("a", {.masked = false})) == "1002");
    CHECK(read(frame("a", {.rsv = 4})) == "1002");
    CHECK(read(frame("a", more) + frame("p", {.op = 9, .fin = false})) == "1002");
    CHECK(read(frame("a", {.op = 3})) == "1002");
    CHECK(read(frame("a", {.length_bytes = 2})) == "1002");
    CHECK(read(frame("a", more) + frame("", ping) + frame("b")) == "ping() 1002");
    CHECK(read(frame("c", {.op = 8})) == "1002");
    for (const unsigned code : {0U, 999U, 1005U, 5'000U})
        CHECK(read(close_frame(code, "\xff")) == "1002");
    CHECK(read(close_frame(1000, "\xff")) == "1007");
    CHECK(read(close_frame(1000, "\xe2\x82")) == "1007");
}

TEST_CASE("what is wrong is found at the byte that shows it") {
    const auto at = [](std::string_view bytes) {
        std::size_t behind = 0;
        read(bytes, 1, 1, false, &behind);
        return behind;
    };
    const std::string begun = frame("a", more);
    CHECK(at(frame("x", last)) == 1);
    CHECK(at(frame("x", goes_on)) == 1);
    CHECK(at(begun + frame("b")) == begun.size() + 1);
    CHECK(at(begun + frame("", ping) + frame("b", more)) == begun.size() + 6 + 1);
    CHECK(at(frame("x", {.length_bytes = 2})) == 4);
    CHECK(at(frame("c", {.op = 8})) == 2);
    CHECK(at(close_frame(999, "words")) == 6 + 2);
    CHECK(at(close_frame(1000, "\xff words")) == 6 + 3);
    CHECK(at(frame(std::string(most + 1, 'x'))) == 4);
    CHECK(at(frame(std::string(2 * most, 'x'))) == 3);
    CHECK(at(frame(std::string(70'000, 'x'))) == 8);
    const std::string full = frame(std::string(most, 'x'), more);
    CHECK(at(full + frame("y", last)) == full.size() + 2);
    CHECK(at(frame(std::string(most, 'x')) + frame(std::string(most, 'x')) + frame("y", last)) ==
          2 * full.size() + 1);
}

TEST_CASE("messages that are too big are refused by their head") {
    const std::string big = frame(std::string(most + 1, 'x'));
    std::size_t behind = 0;
    CHECK(read(big, 1, 1, false, &behind) == "1009");
    CHECK(behind == 4);
    CHECK(read(frame(std::string(most, 'x'), more) + frame("y", last)) == "1009");
    CHECK(read(frame(std::string(most, 'x'), more) + frame("", last)).size() == most + 7);
    const std::string_view endless("\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff"
                                   "abcd",
                                   14);
    CHECK(read(endless) == "1009");
}

TEST_CASE("text that is not UTF-8 is refused as soon as that is certain") {
    CHECK(read(frame("\xc3\xa4", more) + frame("\xe2\x82", goes_on) + frame("\xac", last)) ==
          "text(\xc3\xa4\xe2\x82\xac) ");
    CHECK(read(frame("\xe2", more) + frame("", ping) + frame("\x82\xac", last)) ==
          "ping() text(\xe2\x82\xac) ");
    CHECK(read(frame("\xe2\x82")) == "1007");
    CHECK(read(frame("\xe2\x82", more) + frame("", last)) == "1007");
    CHECK(read(frame("\xe2\x82") + frame("x")) == "1007");
    std::size_t behind = 0;
    const std::string text = frame("abc\xff"
                                   "def",
                                   more);
    CHECK(read(text, 1, 1, false, &behind) == "1007");
    CHECK(behind == 6 + 4);
}

TEST_CASE("a compressed message is not longer than its content could need") {
    if (!coding::is_available(coding::format::deflate))
        return;
    constexpr std::size_t longest = most + most / 8 + 65'536;
    std::string empty_blocks; // which say nothing
    while (empty_blocks.size() <= longest)
        empty_blocks += std::string("\0\0\0\xff\xff", 5);
    const std::string fits = empty_blocks.substr(0, longest / 5 * 5 - 4); // without the end
    const std::string_view rest = std::string_view(empty_blocks).substr(0, longest - 60'000);
    const auto begun = frame(empty_blocks.substr(0, 60'000), {.op = 1, .fin = false, .rsv = 4});
    CHECK(read(frame(fits, {.op = 1, .rsv = 4}), 7'000, 7'000, true) == "text() ");
    CHECK(read(frame(empty_blocks, {.op = 1, .rsv = 4}), 7'000, 7'000, true) == "1009");
    CHECK(read(begun + frame(rest.substr(0, rest.size() / 5 * 5 - 4), last), 7'000, 7'000, true) ==
          "text() ");
    CHECK(read(begun + frame(std::string(rest) + "x", last), 7'000, 7'000, true) == "1009");
    CHECK(read(frame(fits, {.op = 1, .rsv = 4}) + frame(fits, {.op = 1, .rsv = 4}), 7'000, 7'000,
               true) == "text() text() "); // each by itself
}

TEST_CASE("compressed messages") {
    if (!coding::is_available(coding::format::deflate))
        return;
    const std::string hello("\xf2\x48\xcd\xc9\xc9\x07\x00", 7);
    const auto compressed = [](std::string_view payload, bool fin = true, int op = 1) {
        return frame(payload, {.op = op, .fin = fin, .rsv = 4});
    };
    CHECK(read(compressed(hello), true) == "text(Hello) ");
    CHECK(read(frame("plain") + compressed(hello) + frame("plain"), true) ==
          "text(plain) text(Hello) text(plain) ");
    CHECK(
        read(compressed(hello.substr(0, 3), false) + frame("", ping) + frame(hello.substr(3), last),
             true) == "ping() text(Hello) ");
    CHECK(read(compressed(std::string(1, '\0')), true) == "text() ");
    CHECK(read(compressed(""), true) == "text() ");
    CHECK(read(compressed("\xff\xff\xff"), true) == "1002");
    CHECK(read(compressed(hello, false) + compressed(hello, true, 0), true) == "1002");
    CHECK(read(compressed("", true, 9), true) == "1002");
    CHECK(read(compressed(hello)) == "1002");
    deflater of({.to = coding::format::deflate}, false);
    std::string bad;
    of.put("abc\xff"
           "def",
           bad);
    CHECK(read(compressed(bad), true) == "1007");
    CHECK(read(compressed(bad, true, 2), true) == "binary(abc\xff"
                                                  "def) ");
    for (const std::size_t size : {most, most + 1, 5'000'000UL}) {
        std::string coded;
        of.put(std::string(size, 'x'), coded);
        CHECK((read(compressed(coded), 7, 7, true) == "1009") == (size > most));
    }
}

TEST_CASE("what grows much is read a little at a time, in whatever fragments it comes") {
    if (!coding::is_available(coding::format::deflate))
        return;
    constexpr std::size_t size = 4'000'000;
    deflater of({.to = coding::format::deflate}, false);
    std::string coded;
    of.put(std::string(size, 'x'), coded);
    for (const std::size_t piece : {coded.size(), std::size_t{100}, std::size_t{2}}) {
        std::string all;
        for (std::size_t at = 0; at < coded.size(); at += piece) {
            const bool ends = at + piece >= coded.size();
            all += frame(std::string_view(coded).substr(at, piece),
                         {.op = at == 0 ? 2 : 0, .fin = ends, .rsv = at == 0 ? 4 : 0});
        }
        message_reader reader(size, inflate_terms{});
        std::string_view in = all;
        message_reader::step now;
        int busy = 0;
        while (now.what != found::message) {
            REQUIRE((now.what == found::more || now.what == found::busy));
            const std::size_t before = reader.content().size();
            now = reader.take(in);
            in.remove_prefix(now.taken);
            busy += now.what == found::busy ? 1 : 0;
            REQUIRE(reader.content().size() - before < 400'000);
        }
        CHECK(in.empty());
        CHECK(reader.content() == std::string(size, 'x'));
        CHECK(busy >= static_cast<int>(size / 400'000));
    }
}

TEST_CASE("pieces are dropped, and count") {
    message_reader reader(most);
    const std::string all = frame(std::string(600, 'x'), more) + frame(std::string(600, 'x'), last);
    auto now = reader.take(std::string_view(all).substr(0, 300));
    CHECK((now.what == found::more && reader.content().size() == 292));
    reader.forget_content();
    now = reader.take(std::string_view(all).substr(300));
    CHECK((now.what == found::failed && reader.fault().code == close_code::too_big));
}

TEST_CASE("at rest it holds little") {
    message_reader reader(1'000'000);
    CHECK(reader.take(frame("short")).what == found::message);
    CHECK_FALSE(reader.rest()); // the message is there still
    reader.forget_content();
    CHECK(reader.rest());
    const std::string all = frame(std::string(600'000, 'x'));
    CHECK(reader.take(all).what == found::message);
    CHECK(reader.memory() >= 600'000);
    reader.forget_content();
    CHECK(reader.between_messages());
    CHECK(reader.rest());
    CHECK(reader.memory() < 64);
}

TEST_CASE("a message takes of the memory for all, and gives back what the next does not need") {
    constexpr std::size_t step = memory_budget::step;
    memory_budget all(step);
    const std::string large = frame(std::string(2 * step, 'x'));
    const auto fault_of_another = [&] {
        message_reader other(100 * step, {}, &all);
        return other.take(large).what == found::message ? 0 : other.fault().code;
    };
    message_reader reader(100 * step, {}, &all);
    CHECK(reader.take(large).what == found::message);
    CHECK(fault_of_another() == close_code::try_later);
    reader.forget_content();
    CHECK(reader.take(frame("small")).what == found::message);
    reader.forget_content();
    CHECK(fault_of_another() == 0);
    CHECK(reader.take(large).what == found::message);
    reader.forget_content();
    CHECK(reader.rest());
    CHECK(fault_of_another() == 0);
    CHECK(reader.take(large.substr(0, large.size() - 1)).what == found::more);
    CHECK(fault_of_another() == close_code::try_later);
    reader.release();
    CHECK(fault_of_another() == 0);
}

TEST_CASE("it is as it was in the beginning between two messages only") {
    const std::string first = frame("first", more);
    for (std::size_t cut = 1; cut <= first.size(); ++cut) {
        CAPTURE(cut);
        message_reader reader(most);
        CHECK(reader.rest());
        CHECK(reader.take(std::string_view(first).substr(0, cut)).what == found::more);
        CHECK_FALSE(reader.rest());
        CHECK(reader.take(first.substr(cut) + frame("", last)).what == found::message);
        CHECK(reader.content() == "first");
        reader.forget_content();
        CHECK(reader.rest());
        CHECK(reader.take(frame("", ping)).what == found::control);
        CHECK(reader.rest());
    }
}

TEST_CASE("what compressed messages may refer to stays when it rests") {
    if (!coding::is_available(coding::format::deflate))
        return;
    constexpr std::string_view hello("\xf2\x48\xcd\xc9\xc9\x07\x00", 7);
    for (const bool keeps : {true, false}) {
        message_reader reader(most, inflate_terms{15, keeps});
        CHECK(reader.rest());
        CHECK(reader.take(frame("plain")).what == found::message);
        reader.forget_content();
        CHECK(reader.rest());
        CHECK(reader.take(frame(hello, {.rsv = 4})).what == found::message);
        CHECK(reader.content() == "Hello");
        reader.forget_content();
        CHECK(reader.rest() == !keeps);
    }
}

} // namespace
} // namespace rota::http::ws
