#include <rota/http/quality.hpp>

#include <array>
#include <string>
#include <string_view>

#include <catch2/catch_test_macros.hpp>

namespace rota::http {
namespace {

using texts = std::array<std::string_view, 3>;

TEST_CASE("weights are read, malformed ones leave their element out") {
    const auto found = parse_quality_list(
        "a, b;q=0.5 ,c ; x=\",;\" ; Q=0.25;ext=1,, d;q=2, e;q=.5, f;q=0.1234, g;q=1.001, h;q=0");
    REQUIRE(found.size() == 4);
    CHECK(found[0].value == "a");
    CHECK(found[0].quality == 1000);
    CHECK(found[1].value == "b");
    CHECK(found[1].quality == 500);
    CHECK(found[2].value == "c ; x=\",;\"");
    CHECK(found[2].quality == 250);
    CHECK(found[3].value == "h");
    CHECK(found[3].quality == 0);
}

TEST_CASE("a long list is a burden for its first elements only") {
    std::string list;
    for (int i = 0; i < 10'000; ++i)
        list += "a/b,";
    CHECK(parse_quality_list(list).size() == 100);
}

TEST_CASE("the media type that the client likes most is chosen, the most exact range counting") {
    const texts offers{"application/json", "text/html", "text/html;level=1"};
    CHECK(preferred_media_type({}, offers) == "application/json");
    CHECK(preferred_media_type("*/*", offers) == "application/json");
    CHECK(preferred_media_type("text/*, application/json;q=0.9", offers) == "text/html");
    CHECK(preferred_media_type("text/*;q=0.5, text/html;level=1", offers) == "text/html;level=1");
    CHECK(preferred_media_type("*/*, application/json;q=0", offers) == "text/html");
    CHECK_FALSE(preferred_media_type("image/*", offers));
    CHECK_FALSE(preferred_media_type("", offers));
    CHECK_FALSE(preferred_media_type("*/html", offers));
}

TEST_CASE("a coding is chosen, and identity unless it is forbidden") {
    const texts offers{"zstd", "gzip", "identity"};
    CHECK(preferred_coding("gzip, br", offers) == "gzip");
    CHECK(preferred_coding("x-gzip", offers) == "gzip");
    CHECK(preferred_coding("gzip;q=0.2, zstd;q=0.3", offers) == "zstd");
    CHECK(preferred_coding("*", offers) == "zstd");
    CHECK(preferred_coding("br", offers) == "identity");
    CHECK(preferred_coding("", offers) == "identity");
    CHECK_FALSE(preferred_coding("identity;q=0", offers));
    CHECK_FALSE(preferred_coding("*;q=0", offers));
    CHECK(preferred_coding("*;q=0, gzip", offers) == "gzip");
    CHECK(preferred_coding("gzip;q=0.001, identity;q=0.5", offers) == "identity");
    CHECK_FALSE(preferred_coding("gzip", {}));
    CHECK_FALSE(preferred_coding({}, {}));
}

TEST_CASE("a coding counts wherever it stands in the list") {
    const texts offers{"zstd", "gzip", "identity"};
    for (const int others : {99, 100, 101, 600}) {
        std::string list;
        for (int i = 0; i < others; ++i)
            list += "x" + std::to_string(i) + (i % 2 == 0 ? "," : ",,");
        CHECK(preferred_coding(list, offers) == "identity");
        CHECK(preferred_coding(list + "gzip", offers) == "gzip");
        CHECK_FALSE(preferred_coding(list + "identity;q=0", offers));
    }
}

TEST_CASE("a language is taken by a shorter one") {
    const texts offers{"en", "de-CH", "fr"};
    CHECK(preferred_language("de, en;q=0.5", offers) == "de-CH");
    CHECK(preferred_language("d, fr;q=0.5", offers) == "fr");
    CHECK(preferred_language("*", offers) == "en");
    CHECK_FALSE(preferred_language("nl", offers));
}

} // namespace
} // namespace rota::http
