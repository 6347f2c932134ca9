#include <rota/http/router.hpp>

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch_test_macros.hpp>

namespace rota::http {
namespace {

handler answer(int status) {
    return [status] { return response(status); };
}

/// "pattern name=value ..." of what a path leads to, or "404", or "405 <Allow>".
std::string lookup(const router& routes, method m, std::string_view path) {
    const route_match found = routes.match(m, path);
    if (found.target == nullptr) {
        return found.allowed.empty() ? "404" : "405 " + found.allowed.to_string();
    }
    std::string text = found.target->pattern;
    for (std::size_t i = 0; i < found.target->parameters.size(); ++i) {
        const text_span value = found.values.values[i];
        text += ' ' + found.target->parameters[i] + '=';
        text += path.substr(value.offset, value.size);
    }
    return text;
}

router sample() {
    router routes;
    routes.get("/", answer(200))
        .get("/plaintext", answer(200))
        .get("/hello/{name}", answer(200))
        .get("/hello/world", answer(200))
        .delete_("/hello/{who}", answer(200))
        .get("/hello/{name}/{verb}", answer(200))
        .get("/hello/{name}/sings", answer(200))
        .get("/static/{path...}", answer(200))
        .get("/static/index", answer(200))
        .get("/a/b/c", answer(200))
        .get("/a/{x}/d", answer(200))
        .get("/{y}/b/e", answer(200))
        .put("/a/", answer(200))
        .post("/any/*", answer(200))
        .head("/own", answer(204))
        .get("/own", answer(200));
    return routes;
}

TEST_CASE("paths lead to routes") {
    const router routes = sample();
    struct expectation {
        method m;
        std::string_view path;
        std::string_view found;
    };
    const std::vector<expectation> table{
        {method::get, "/", "/"},
        {method::get, "/plaintext", "/plaintext"},
        {method::get, "/plaintex", "404"},
        {method::get, "/plaintext2", "404"},
        {method::get, "/plaintext/", "404"},
        {method::get, "//plaintext", "404"},
        {method::get, "/hello/ann", "/hello/{name} name=ann"},
        {method::get, "/hello/..", "/hello/{name} name=.."},
        {method::get, "/hello/", "404"},
        {method::get, "/hello", "404"},
        {method::get, "/hello/world", "/hello/world"},
        // Text wins, but not if it lacks the method.
        {method::delete_, "/hello/world", "/hello/{who} who=world"},
        {method::get, "/hello/ann/runs", "/hello/{name}/{verb} name=ann verb=runs"},
        {method::get, "/hello/ann/sings", "/hello/{name}/sings name=ann"},
        {method::get, "/hello/world/sings", "/hello/{name}/sings name=world"},
        {method::get, "/static/", "/static/{path...} path="},
        {method::get, "/static/a//b.css", "/static/{path...} path=a//b.css"},
        {method::get, "/static/index", "/static/index"},
        {method::get, "/static/index/x", "/static/{path...} path=index/x"},
        {method::get, "/static", "404"},
        // Going back when the better beginning leads nowhere.
        {method::get, "/a/b/c", "/a/b/c"},
        {method::get, "/a/b/d", "/a/{x}/d x=b"},
        {method::get, "/a/b/e", "/{y}/b/e y=a"},
        {method::get, "/a/b/f", "404"},
        {method::put, "/a/", "/a/"},
        {method::post, "/any/x/y", "/any/* *=x/y"},
        // HEAD from GET, unless there is one of its own.
        {method::head, "/plaintext", "/plaintext"},
        {method::head, "/any/x", "405 POST, OPTIONS"},
        {method::post, "/plaintext", "405 GET, HEAD, OPTIONS"},
        {method::put, "/hello/world", "405 GET, HEAD, DELETE, OPTIONS"},
        {method::options, "/any/x", "405 POST, OPTIONS"},
        {method::trace, "/", "405 GET, HEAD, OPTIONS"},
    };
    for (const auto& row : table) {
        CAPTURE(row.path);
        CHECK(lookup(routes, row.m, row.path) == row.found);
    }
    CHECK(routes.match(method::head, "/own").target->method == method::head);
    CHECK(routes.match(method::head, "/plaintext").target->method == method::get);
}

TEST_CASE("each method has its routes, and any() is for those that act on a resource") {
    router routes;
    routes.head("/h", answer(200)).patch("/p", answer(200)).options("/o", answer(200));
    routes.any("/a", answer(200));
    for (const method m : {method::get, method::head, method::post, method::put, method::patch,
                           method::delete_, method::options}) {
        CAPTURE(method_names[static_cast<std::size_t>(m)]);
        CHECK((lookup(routes, m, "/h") == "/h") == (m == method::head));
        CHECK((lookup(routes, m, "/p") == "/p") == (m == method::patch));
        CHECK((lookup(routes, m, "/o") == "/o") == (m == method::options));
        CHECK((lookup(routes, m, "/a") == "/a") == (m != method::options));
    }
    CHECK_THROWS_AS(routes.patch("/a", answer(200)), std::invalid_argument);
    CHECK_NOTHROW(routes.options("/a", answer(200)));
}

TEST_CASE("a route that is taken or makes no sense is refused when it is registered") {
    router routes = sample();
    for (std::string_view pattern :
         {"/hello/{other}", "/hello/world", "/static/*", "/static/{rest...}", "/"}) {
        CAPTURE(pattern);
        CHECK_THROWS_AS(routes.get(pattern, answer(200)), std::invalid_argument);
    }
    for (std::string_view pattern :
         {"hello", "/{}", "/{...}", "/x{y}", "/{x}y", "/{x", "/x}", "/*/a", "/{p...}/a", "/a*",
          "/{a}/{a}", "/{a}/{a...}", "/{{a}}", "/1/{a}/{b}/{c}/{d}/{e}/{f}/{g}/{h}/{i}"}) {
        CAPTURE(pattern);
        CHECK_THROWS_AS(routes.post(pattern, answer(200)), std::invalid_argument);
    }
    try {
        routes.get("/hello/{x}", answer(200));
        FAIL("not refused");
    } catch (const std::invalid_argument& error) {
        CHECK(std::string_view(error.what()) ==
              "route pattern \"/hello/{x}\": GET is taken by pattern \"/hello/{name}\"");
    }
    // A refused route leaves nothing behind.
    CHECK(routes.routes().size() == sample().routes().size());
    CHECK(lookup(routes, method::get, "/hello/ann") == "/hello/{name} name=ann");
}

TEST_CASE("a router is mounted under a prefix") {
    router inner;
    inner.get("", answer(200)).get("/", answer(200)).post("/jobs", answer(200));
    router middle;
    middle.mount("/queues/{queue}", std::move(inner));
    router routes = sample();
    routes.mount("/v1", std::move(middle));
    CHECK(lookup(routes, method::get, "/v1/queues/q") == "/v1/queues/{queue} queue=q");
    CHECK(lookup(routes, method::get, "/v1/queues/q/") == "/v1/queues/{queue}/ queue=q");
    CHECK(lookup(routes, method::post, "/v1/queues/q/jobs") == "/v1/queues/{queue}/jobs queue=q");
    CHECK(lookup(routes, method::post, "/queues/q/jobs") == "404");
    for (std::string_view prefix : {"/v2/", "v2", "/v2/*", "/v2/{a...}"}) {
        CAPTURE(prefix);
        CHECK_THROWS_AS(routes.mount(prefix, router()), std::invalid_argument);
    }
    router taken;
    taken.get("/plaintext", answer(200));
    CHECK_THROWS_AS(routes.mount("", std::move(taken)), std::invalid_argument);
}

TEST_CASE("only a plain handler without middleware is called directly") {
    router routes;
    routes.get("/plain", [](const request&) { return response(201); })
        .get("/coroutine", [](request&) -> task<response> { co_return response(202); })
        .post("/body", [](const request&, std::string) { return response(203); });
    CHECK(routes.direct(routes.match(method::get, "/plain")) != nullptr);
    CHECK(routes.direct(routes.match(method::get, "/coroutine")) == nullptr);
    CHECK(routes.direct(routes.match(method::post, "/body")) == nullptr);
    CHECK(routes.direct(routes.match(method::get, "/none")) == nullptr);
    routes.use(
        [](request& req, next proceed) -> task<response> { co_return co_await proceed(req); });
    CHECK(routes.direct(routes.match(method::get, "/plain")) == nullptr);
}

} // namespace
} // namespace rota::http
