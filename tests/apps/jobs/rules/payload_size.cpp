#include "jobs/rules/payload_size.hpp"

#include <string_view>

#include <catch2/catch_test_macros.hpp>

#include <rota/json/document.hpp>

using namespace jobs;

TEST_CASE("of a text its own bytes count") {
    for (const std::string_view json :
         {R"("")", R"("abc")", R"("\"\\\/\n\t\u0000\u001f")", R"("\u0041\u00e9\u20AC\uFFFF")",
          R"("\ud83d\ude00")", R"("é€😀")", R"("\\u0041")"}) {
        CAPTURE(json);
        const rota::json::document doc = rota::json::document::parse(json);
        CHECK(payload_size(json) == doc.root().string().size());
    }
}

TEST_CASE("of anything else the JSON counts") {
    for (const std::string_view json : {R"(["\n"])", R"({"a":"é"})", "12.50", "null"}) {
        CAPTURE(json);
        CHECK(payload_size(json) == json.size());
    }
}
