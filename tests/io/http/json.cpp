#include <rota/http/json.hpp>

#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "session_driver.hpp"

namespace rota::http {
namespace {

struct item {
    std::string name;
    int count = 1;
    static constexpr auto json_members =
        json::members(json::member("name", &item::name, json::length(1, 100)),
                      json::optional_member("count", &item::count));
};

task<response> add(request& req) {
    item added = co_await req.json<item>(1000);
    ++added.count;
    co_return json_answer(added, 201);
}

task<response> add_strictly(request& req) {
    const item added = co_await req.json<item>({.refuse_unknown = true}, 1000);
    co_return json_answer(added, 201);
}

task<response> count_flat(request& req) {
    const json::document all = co_await req.json({.limits = {.depth_max = 1}});
    co_return response::text(std::to_string(all.root().size()));
}

task<response> count(request& req) {
    const json::document all = co_await req.json();
    co_return response::text(std::to_string(all.root().size()));
}

router routes() {
    router made;
    made.post("/add", add)
        .post("/count", count)
        .post("/strict", add_strictly)
        .post("/flat", count_flat)
        .post("/whole", [](const request&, std::string text) {
            return json_answer(read_json<std::vector<item>>(text).size());
        });
    return made;
}

std::string answer_to(std::string_view path, const std::string& content) {
    test::session_driver s(routes());
    const std::string answer =
        s.exchange("POST " + std::string(path) + " HTTP/1.1\r\nHost: a\r\nContent-Length: " +
                   std::to_string(content.size()) + "\r\n\r\n" + content);
    return answer.substr(9, 4) + answer.substr(answer.find("\r\n\r\n") + 4);
}

TEST_CASE("a handler reads structs and answers with them") {
    CHECK(answer_to("/add", R"({"name":"a"})") == R"(201 {"name":"a","count":2})");
    CHECK(answer_to("/whole", R"([{"name":"a"},{"name":"b"}])") == "200 2");
    CHECK(answer_to("/count", "[1,2,3]") == "200 3");
}

TEST_CASE("what cannot be read is a 400 that says why") {
    CHECK(answer_to("/add", R"({"name":12})") ==
          "400 Bad Request: name: expected a string, got 12\n");
    CHECK(answer_to("/whole", R"([{"name":"a"},{}])") == "400 Bad Request: [1].name: is missing\n");
    CHECK(answer_to("/add", "[]") ==
          "400 Bad Request: the content: expected an object, got an array\n");
    CHECK(answer_to("/count", "[1,").starts_with("400 Bad Request: the content is not JSON: "));
    CHECK(answer_to("/count", "") ==
          "400 Bad Request: the content is not JSON: there is nothing\n");
    CHECK(answer_to("/add", std::string(1001, ' ')).starts_with("413 "));
}

TEST_CASE("how strict it is is said where it is read") {
    const std::string more = R"({"name":"a","more":1})";
    CHECK(answer_to("/add", more) == R"(201 {"name":"a","count":2})");
    CHECK(answer_to("/strict", more) == "400 Bad Request: more: is not known\n");
    CHECK(answer_to("/strict", R"({"name":"a"})") == R"(201 {"name":"a","count":1})");
    CHECK(answer_to("/strict", std::string(1001, ' ')).starts_with("413 "));
    CHECK(answer_to("/flat", "[1,2]") == "200 2");
    CHECK(answer_to("/flat", "[[1],2]").starts_with("400 Bad Request: the content is not JSON: "));
}

} // namespace
} // namespace rota::http
