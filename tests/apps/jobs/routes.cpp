#include "jobs/routes.hpp"

#include <set>
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <rota/http/detail/router_access.hpp>

#include "jobs/openapi_json.hpp"
#include "jobs/rules/memory_store.hpp"
#include <rota/json/document.hpp>

using namespace jobs;

namespace {

/// "get /queues/{queue}"
using operation_set = std::set<std::string>;

std::string in_lower_case(std::string_view text) {
    std::string lower(text);
    for (char& c : lower)
        c = c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
    return lower;
}

operation_set described() {
    operation_set all;
    const rota::json::document doc = rota::json::document::parse(openapi_json);
    doc.root().member("paths")->each_member([&](std::string_view path, rota::json::value item) {
        item.each_member([&](std::string_view method, rota::json::value) {
            all.insert(std::string(method) + ' ' + std::string(path));
        });
    });
    return all;
}

operation_set registered() {
    memory_store rows;
    service served(rows);
    operation_set all;
    const rota::http::router all_routes = routes(served);
    for (const auto& each : all_routes.routes())
        all.insert(in_lower_case(to_string(each->method)) + ' ' + each->pattern);
    return all;
}

} // namespace

TEST_CASE("what is served is what is described") {
    CHECK(described() == registered());
    CHECK(described().size() == 20);
}

TEST_CASE("what no handler has answered is a problem by its reason phrase") {
    memory_store rows;
    service served(rows);
    const rota::http::router all_routes = routes(served);
    const auto miss =
        rota::http::router_access::match(all_routes, rota::http::method::get, "/none");
    REQUIRE(miss.page != nullptr);
    const auto told = [&miss](int status, std::string_view reason) {
        const rota::http::response made = (*miss.page)(status, reason);
        CHECK(made.status() == status);
        CHECK(made.headers().find("Content-Type") == "application/problem+json");
        return std::string(made.body());
    };
    CHECK(told(500, "") ==
          R"({"title":"Internal Server Error","status":500,)"
          R"("code":"internal_server_error","detail":"the server has failed to answer this"})"
          "\n");
    CHECK(told(414, "too \"long\"") == R"({"title":"URI Too Long","status":414,)"
                                       R"("code":"uri_too_long","detail":"too \"long\""})"
                                       "\n");
}
