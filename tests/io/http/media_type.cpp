#include <rota/http/media_type.hpp>

#include <string_view>

#include <catch2/catch_test_macros.hpp>

namespace rota::http {
namespace {

TEST_CASE("media types are read with their parameters") {
    const auto found = media_type::parse("Text/HTML ; Charset=\"utf-8\";x=\"a;b\\\"c\";");
    REQUIRE(found);
    CHECK(found->essence() == "text/html");
    CHECK(found->is("TEXT/html"));
    CHECK_FALSE(found->is("text/htm"));
    CHECK(found->parameter("CHARSET") == "utf-8");
    CHECK(found->parameter("x") == "a;b\"c");
    CHECK_FALSE(found->parameter("boundary"));
    CHECK(media_type::parse(found->to_string()) == found);
    CHECK(found->to_string() == "text/html; charset=utf-8; x=\"a;b\\\"c\"");
}

TEST_CASE("JSON has several types") {
    CHECK(media_type::parse("application/json; charset=utf-8")->is_json());
    CHECK(media_type::parse("application/problem+JSON")->is_json());
    CHECK_FALSE(media_type::parse("text/plain")->is_json());
    CHECK_FALSE(media_type::parse("application/jsonp")->is_json());
}

TEST_CASE("a media type has so many parameters, and no more") {
    std::string text = "a/b";
    for (int i = 0; i < 32; ++i)
        text += ";p" + std::to_string(i) + "=1";
    CHECK(media_type::parse(text));
    CHECK_FALSE(media_type::parse(text + ";more=1"));
}

TEST_CASE("what is no media type is none") {
    for (std::string_view text :
         {"", "text", "/", "text/", "/html", "text/html/x", "te xt/html", "text/html;charset",
          "text/html;charset=", "text/html;=a", "text/html;a=1;A=2", "text/html;a=\"",
          "text/html;a=\"b\\\"", "text/html, text/plain", "text/html;a=\"b\"c\"",
          "text/html;a=\"\n\""}) {
        CAPTURE(text);
        CHECK_FALSE(media_type::parse(text));
    }
}

} // namespace
} // namespace rota::http
