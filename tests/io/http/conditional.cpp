#include <rota/http/conditional.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "field_list.hpp"

namespace rota::http {
namespace {

using test::some_fields;
using list = std::vector<std::pair<std::string, std::string>>;
using std::chrono::sys_seconds;

constexpr sys_seconds modified{std::chrono::seconds(784'111'777)};
const std::string same = "Sun, 06 Nov 1994 08:49:37 GMT";
const std::string earlier = "Sun, 06 Nov 1994 08:49:36 GMT";
const std::string later = "Sun, 06 Nov 1994 08:49:38 GMT";

const validators current{.tag = entity_tag{.opaque = "v1"}, .last_modified = modified};

precondition check(method asked, const list& fields, const validators& of = current) {
    const some_fields given(fields);
    return check_preconditions(asked, given.list(), of);
}

TEST_CASE("an entity tag is quoted, and may be weak") {
    const auto tag = entity_tag::parse("\"a,b\\\x80\"");
    REQUIRE(tag);
    CHECK(tag->opaque == "a,b\\\x80");
    CHECK_FALSE(tag->weak);
    CHECK(entity_tag::parse("\"\""));
    CHECK(entity_tag::parse("W/\"x\"")->weak);
    CHECK(entity_tag::parse("W/\"x\"")->to_string() == "W/\"x\"");
    CHECK(entity_tag{.opaque = "y"}.to_string() == "\"y\"");
    for (std::string_view text : {"", "x", "\"x", "x\"", "w/\"x\"", "W/", "W/x", "\"a b\"", "\"",
                                  "\"a\"b", " \"a\"", "\"a\x7f\"", "\"a\tb\""}) {
        INFO(text);
        CHECK_FALSE(entity_tag::parse(text));
    }
}

TEST_CASE("tags compare strongly and weakly") { // the table of RFC 9110 section 8.8.3.2
    const entity_tag weak1{"1", true};
    const entity_tag weak2{"2", true};
    const entity_tag strong1{"1", false};
    CHECK_FALSE(strongly_equal(weak1, weak1));
    CHECK(weakly_equal(weak1, weak1));
    CHECK_FALSE(weakly_equal(weak1, weak2));
    CHECK_FALSE(strongly_equal(weak1, strong1));
    CHECK(weakly_equal(weak1, strong1));
    CHECK(strongly_equal(strong1, strong1));
}

TEST_CASE("a list of tags is read without what is none") {
    std::string_view tags = " , \"a,b\" ,W/\"c\",, d, \"e\"f, \"g h\", \"i";
    std::vector<std::string> found;
    while (const auto tag = next_entity_tag(tags))
        found.push_back(tag->to_string());
    CHECK(found == std::vector<std::string>{"\"a,b\"", "W/\"c\""});
    CHECK(tags.empty());
}

TEST_CASE("If-Match fails unless the strong tag is there") {
    CHECK(check(method::get, {{"If-Match", "\"v1\""}}) == precondition::go_on);
    CHECK(check(method::get, {{"If-Match", "\"v0\", \"v1\""}}) == precondition::go_on);
    CHECK(check(method::get, {{"If-Match", "\"v0\""}, {"if-match", "\"v1\""}}) ==
          precondition::go_on);
    CHECK(check(method::get, {{"If-Match", "*"}}) == precondition::go_on);
    for (const char* value : {"\"v0\"", "W/\"v1\"", "v1", "", "\"*\"", "*, \"v0\""}) {
        INFO(value);
        CHECK(check(method::get, {{"If-Match", value}}) == precondition::failed);
        CHECK(check(method::head, {{"If-Match", value}}) == precondition::failed);
        CHECK(check(method::put, {{"If-Match", value}}) == precondition::failed);
    }
    const validators nothing{.exists = false};
    CHECK(check(method::put, {{"If-Match", "*"}}, nothing) == precondition::failed);
    const validators weak{.tag = entity_tag{.opaque = "v1", .weak = true}};
    CHECK(check(method::get, {{"If-Match", "\"v1\""}}, weak) == precondition::failed);
}

TEST_CASE("If-Unmodified-Since counts where there is no If-Match") {
    CHECK(check(method::get, {{"If-Unmodified-Since", same}}) == precondition::go_on);
    CHECK(check(method::get, {{"If-Unmodified-Since", later}}) == precondition::go_on);
    CHECK(check(method::get, {{"If-Unmodified-Since", earlier}}) == precondition::failed);
    CHECK(check(method::put, {{"If-Unmodified-Since", earlier}}) == precondition::failed);
    CHECK(check(method::get, {{"If-Unmodified-Since", "yesterday"}}) == precondition::go_on);
    CHECK(check(method::get, {{"If-Unmodified-Since", earlier},
                              {"If-Unmodified-Since", earlier}}) == precondition::go_on);
    CHECK(check(method::get, {{"If-Match", "\"v1\""}, {"If-Unmodified-Since", earlier}}) ==
          precondition::go_on);
    CHECK(check(method::get, {{"If-Unmodified-Since", earlier}}, validators{}) ==
          precondition::go_on);
}

TEST_CASE("If-None-Match compares weakly: 304 for what reads, 412 for what does not") {
    for (const char* value : {"\"v1\"", "W/\"v1\"", "*", "\"v0\", W/\"v1\"", " * "}) {
        INFO(value);
        CHECK(check(method::get, {{"If-None-Match", value}}) == precondition::not_modified);
        CHECK(check(method::head, {{"If-None-Match", value}}) == precondition::not_modified);
        CHECK(check(method::put, {{"If-None-Match", value}}) == precondition::failed);
    }
    CHECK(check(method::get, {{"If-None-Match", "\"v0\""}}) == precondition::go_on);
    CHECK(check(method::get, {{"If-None-Match", "v1"}}) == precondition::go_on);
    CHECK(check(method::get, {{"If-None-Match", ""}}) == precondition::go_on);
    const validators nothing{.exists = false};
    CHECK(check(method::put, {{"If-None-Match", "*"}}, nothing) == precondition::go_on);
}

TEST_CASE("If-Modified-Since counts for GET and HEAD without If-None-Match") {
    CHECK(check(method::get, {{"If-Modified-Since", same}}) == precondition::not_modified);
    CHECK(check(method::head, {{"If-Modified-Since", later}}) == precondition::not_modified);
    CHECK(check(method::get, {{"If-Modified-Since", earlier}}) == precondition::go_on);
    CHECK(check(method::post, {{"If-Modified-Since", later}}) == precondition::go_on);
    CHECK(check(method::get, {{"If-Modified-Since", "never"}}) == precondition::go_on);
    CHECK(check(method::get, {{"If-Modified-Since", later + ", " + later}}) == precondition::go_on);
    CHECK(check(method::get, {{"If-Modified-Since", "Sunday, 06-Nov-94 08:49:37 GMT"}}) ==
          precondition::not_modified);
    CHECK(check(method::get, {{"If-Modified-Since", "Sun Nov  6 08:49:37 1994"}}) ==
          precondition::not_modified);
    CHECK(check(method::get, {{"If-None-Match", "\"v0\""}, {"If-Modified-Since", later}}) ==
          precondition::go_on);
}

TEST_CASE("the order: what fails comes before what is not modified") {
    CHECK(check(method::get, {{"If-Match", "\"v0\""}, {"If-None-Match", "\"v1\""}}) ==
          precondition::failed);
    CHECK(check(method::get, {{"If-Match", "\"v1\""}, {"If-None-Match", "\"v1\""}}) ==
          precondition::not_modified);
    CHECK(check(method::get, {{"If-Unmodified-Since", earlier}, {"If-None-Match", "\"v1\""}}) ==
          precondition::failed);
    CHECK(check(method::get, {{"If-Unmodified-Since", same}, {"If-Modified-Since", same}}) ==
          precondition::not_modified);
    CHECK(check(method::get, {}) == precondition::go_on);
}

TEST_CASE("a range applies to what the client has a part of") {
    const auto applies = [](method asked, const list& fields,
                            sys_seconds now = modified + std::chrono::hours(1)) {
        const some_fields given(fields);
        return applicable_range(asked, given.list(), current, now).has_value();
    };
    const std::pair<std::string, std::string> range{"Range", "bytes=0-1"};
    CHECK(applies(method::get, {range}));
    CHECK_FALSE(applies(method::get, {}));
    CHECK_FALSE(applies(method::head, {range}));
    CHECK_FALSE(applies(method::get, {range, range}));
    CHECK(applies(method::get, {range, {"If-Range", "\"v1\""}}));
    CHECK(applies(method::get, {range, {"If-Range", same}}));
    for (const std::string& value :
         {std::string("\"v0\""), std::string("W/\"v1\""), std::string("v1"), std::string("*"),
          std::string(), std::string("\"v0\", \"v1\""), earlier, later}) {
        INFO(value);
        CHECK_FALSE(applies(method::get, {range, {"If-Range", value}}));
    }
    CHECK_FALSE(applies(method::get, {range, {"If-Range", "\"v1\""}, {"If-Range", "\"v1\""}}));
    // Within its second it may change again without another date.
    CHECK_FALSE(applies(method::get, {range, {"If-Range", same}}, modified));
    CHECK(applies(method::get, {range, {"If-Range", same}}, modified + std::chrono::seconds(1)));
}

} // namespace
} // namespace rota::http
