#include <rota/crypto/seal.hpp>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

namespace rota::crypto {
namespace {

using namespace std::chrono_literals;

const std::string key_a(32, 'a');
const std::string key_b(40, 'b');
const seal::clock::time_point now = seal::clock::time_point(1'000'000s);

/// Both ways to make a text, as one.
struct way {
    std::string (*make)(const seal&, std::string_view, std::string_view, std::chrono::seconds);
    std::optional<std::string> (*take)(const seal&, std::string_view, std::string_view,
                                       seal::clock::time_point);
};
const way ways[] = {
    {[](const seal& s, std::string_view name, std::string_view text, std::chrono::seconds age) {
         return s.close(name, text, age, now);
     },
     [](const seal& s, std::string_view name, std::string_view text, seal::clock::time_point at) {
         return s.open(name, text, at);
     }},
    {[](const seal& s, std::string_view name, std::string_view text, std::chrono::seconds age) {
         return s.sign(name, text, age, now);
     },
     [](const seal& s, std::string_view name, std::string_view text, seal::clock::time_point at) {
         return s.verify(name, text, at);
     }},
};

TEST_CASE("a text comes back, for its name and until its time is over") {
    const seal s({key_a});
    for (const way& by : ways) {
        for (const std::string& text : {std::string(), std::string("ann"),
                                        std::string("\0\xff;\r\n", 5), std::string(3'000, 'x')}) {
            const std::string made = by.make(s, "session", text, 60s);
            CHECK(by.take(s, "session", made, now) == text);
            CHECK(by.take(s, "session", made, now + 59s) == text);
            CHECK_FALSE(by.take(s, "session", made, now + 60s));
            CHECK_FALSE(by.take(s, "session", made, now + std::chrono::hours(100'000)));
            CHECK_FALSE(by.take(s, "Session", made, now));
            CHECK_FALSE(by.take(s, "", made, now));
            CHECK(made.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                         "0123456789-_.") == std::string::npos);
        }
    }
}

TEST_CASE("a text lasts for the whole of its age, wherever in a second it was made") {
    const seal s({key_a});
    const seal::clock::time_point late = now + 999ms;
    const std::string closed = s.close("session", "ann", 2s, late);
    const std::string signed_text = s.sign("session", "ann", 2s, late);
    CHECK(s.open("session", closed, late + 1'999ms) == "ann");
    CHECK(s.verify("session", signed_text, late + 1'999ms) == "ann");
    CHECK_FALSE(s.open("session", closed, late + 3s));
    CHECK_FALSE(s.verify("session", signed_text, late + 3s));
}

TEST_CASE("nothing that was changed comes back") {
    const seal s({key_a});
    for (const way& by : ways) {
        const std::string made = by.make(s, "session", "ann", 60s);
        for (std::size_t at = 0; at < made.size(); ++at) {
            for (const char c : {'A', 'B', '_', '.', '=', ' '}) {
                std::string changed = made;
                changed[at] = c;
                if (changed != made)
                    CHECK_FALSE(by.take(s, "session", changed, now));
            }
            CHECK_FALSE(by.take(s, "session", made.substr(0, at), now));
            CHECK_FALSE(by.take(s, "session", made.substr(at + 1), now));
        }
        for (const char* const more : {"A", "AA", "AAA", "AAAA", ".", ".A", "="})
            CHECK_FALSE(by.take(s, "session", made + more, now));
        CHECK_FALSE(by.take(s, "session", "", now));
    }
}

TEST_CASE("one kind is not taken for the other, nor a name for the text") {
    const seal s({key_a});
    CHECK_FALSE(s.verify("a", s.close("a", "text", 60s, now), now));
    CHECK_FALSE(s.open("a", s.sign("a", "text", 60s, now), now));
    CHECK_FALSE(s.verify("ab", s.sign("a", "btext", 60s, now), now));
}

TEST_CASE("what is closed tells nothing, and is another text each time") {
    const seal s({key_a});
    const std::string made = s.close("session", "ann", 60s, now);
    CHECK(made != s.close("session", "ann", 60s, now));
    CHECK(made.size() == (16 + 8 + 3 + 16) * 4 / 3 + 1);
    CHECK(s.sign("session", "ann", 60s, now) == s.sign("session", "ann", 60s, now));
}

TEST_CASE("keys are rotated") {
    const seal before({key_a});
    const seal after({key_b, key_a});
    const seal at_last({key_b});
    for (const way& by : ways) {
        const std::string old = by.make(before, "session", "ann", 60s);
        CHECK(by.take(after, "session", old, now) == "ann");
        CHECK_FALSE(by.take(at_last, "session", old, now));
        const std::string made = by.make(after, "session", "ann", 60s);
        CHECK(by.take(at_last, "session", made, now) == "ann");
        CHECK_FALSE(by.take(before, "session", made, now));
    }
}

TEST_CASE("texts that others have made by the same rules") {
    const char* const signed_text = "AAAAAAAPQnxhbm4.CpqquA6K4J4682oV0Gg1xmqU3rpx4reHkay5QnXyft0";
    const char* const closed = "AAECAwQFBgcICQoLDA0OD1fK5Zk3S3BA_fAAfozknDl-T1kSmQvhUdML5Q";
    const seal s({std::string(32, 'k')});
    CHECK(s.verify("session", signed_text, now) == "ann");
    CHECK(s.sign("session", "ann", 60s, now) == signed_text);
    CHECK(s.open("session", closed, now) == "ann");
}

TEST_CASE("keys are long, and not too many") {
    CHECK_THROWS_AS(seal({}), std::invalid_argument);
    CHECK_THROWS_AS(seal({std::string(31, 'k')}), std::invalid_argument);
    CHECK_THROWS_AS(seal({key_a, ""}), std::invalid_argument);
    CHECK_THROWS_AS(seal(std::vector<std::string>(17, key_a)), std::invalid_argument);
    const seal most(std::vector<std::string>(16, key_a));
    CHECK(most.open("a", most.close("a", "b", 1s)) == "b");
}

TEST_CASE("one that has been moved from makes nothing, and opens nothing") {
    seal from({key_a});
    const std::string closed = from.close("a", "text", 1h, now);
    CHECK(from.close("a", "", 1h, now).size() == 54);
    const seal to(std::move(from));
    CHECK(to.open("a", closed, now) == "text");
    // NOLINTBEGIN(bugprone-use-after-move)
    CHECK_THROWS_AS(from.close("a", "text", 1h, now), std::logic_error);
    CHECK_THROWS_AS(from.sign("a", "text", 1h, now), std::logic_error);
    CHECK_FALSE(from.open("a", closed, now));
    CHECK_FALSE(from.verify("a", to.sign("a", "text", 1h, now), now));
    // NOLINTEND(bugprone-use-after-move)
}

TEST_CASE("a text lasts for a second at least") {
    const seal s({key_a});
    CHECK_THROWS_AS(s.close("a", "b", 0s), std::invalid_argument);
    CHECK_THROWS_AS(s.sign("a", "b", -1s), std::invalid_argument);
    CHECK(s.open("a", s.close("a", "b", std::chrono::seconds::max())) == "b");
    seal moved = seal({key_a});
    moved = seal({key_b});
    CHECK_FALSE(moved.open("a", s.close("a", "b", 1s)));
}

} // namespace
} // namespace rota::crypto
