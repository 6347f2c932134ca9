#include <rota/http/request_head.hpp>

#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

namespace rota::http {
namespace {

TEST_CASE("header lists are searched without regard to case, and walked in order") {
    const std::string text = "Host|a|X-One|1|x-one|2";
    const std::vector<field_span> fields{{{0, 4}, {5, 1}}, {{7, 5}, {13, 1}}, {{15, 5}, {21, 1}}};
    const header_list list(text.data(), fields);
    CHECK(list.size() == 3);
    CHECK(list.find("HOST") == "a");
    CHECK(list.find("X-ONE") == "1");
    CHECK_FALSE(list.find("X-On"));
    CHECK_FALSE(list.find("X-One "));
    std::string all;
    for (const header_field field : list) {
        all += std::string(field.name) + '=' + std::string(field.value) + ';';
    }
    CHECK(all == "Host=a;X-One=1;x-one=2;");
    CHECK(header_list(nullptr, {}).empty());
}

} // namespace
} // namespace rota::http
