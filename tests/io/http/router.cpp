#include <rota/http/detail/router_access.hpp>
#include <rota/http/router.hpp>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "framework/death.hpp"
#include "session_driver.hpp"

namespace rota::http {
namespace {

handler answer(int status) {
    return [status] { return response(status); };
}

/// "pattern name=value ..." of what a path leads to, or "404", or "405 <Allow>".
std::string lookup(const router& routes, method m, std::string_view path) {
    const route_match found = router_access::match(routes, m, path);
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
    CHECK(router_access::match(routes, method::head, "/own").target->method == method::head);
    CHECK(router_access::match(routes, method::head, "/plaintext").target->method == method::get);
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

// --- Requests that no route is found for ---

/// Says "WHO PATH" with a status.
handler says(std::string who, int status) {
    return [who = std::move(who), status](const request& req) {
        return response::text(who + ' ' + std::string(req.path())).status(status);
    };
}

/// Notes its name in a field of the answer, behind those of the middleware within it.
middleware notes(std::string name) {
    return [name = std::move(name)](request& req, next proceed) -> task<response> {
        response answer = co_await proceed(req);
        const std::string inner(answer.headers().find("Through").value_or(""));
        answer.header("Through", name + inner);
        co_return answer;
    };
}

/// "STATUS THROUGH ALLOW CONTENT", with "-" for a field that is not there.
std::string told(test::session_driver& client, std::string_view method, std::string_view path) {
    const std::string answer = client.exchange(std::string(method) + ' ' + std::string(path) +
                                               " HTTP/1.1\r\nHost: a\r\n\r\n");
    const auto field = [&answer](std::string_view name) -> std::string {
        const std::size_t at = answer.find("\r\n" + std::string(name) + ": ");
        if (at == std::string::npos)
            return "-";
        const std::size_t begin = at + name.size() + 4;
        return answer.substr(begin, answer.find("\r\n", begin) - begin);
    };
    return answer.substr(9, 3) + ' ' + field("Through") + ' ' + field("Allow") + ' ' +
           answer.substr(answer.find("\r\n\r\n") + 4);
}

router speaking(const std::string& name) {
    router routes;
    routes.use(notes(name)).not_found(says("no " + name, 404));
    routes.error([name](int status, std::string_view) {
        return response::text("not so " + name).status(status);
    });
    return routes;
}

TEST_CASE("a mounted router answers what is unknown under its prefix, and nothing else") {
    router inner = speaking("i");
    inner.get("", answer(200)).get("/known", answer(200));
    router routes;
    routes.get("/", answer(200)).mount("/v1", std::move(inner));
    test::session_driver s(std::move(routes));
    for (const char* path : {"/v1/", "/v1/none", "/v1/known/", "/v1/a/b?c", "/v1//", "/v1/%2F"}) {
        CAPTURE(path);
        CHECK(told(s, "GET", path).starts_with("404 i - no i /v1/"));
    }
    CHECK(told(s, "GET", "/v1/known") == "200 i - ");
    CHECK(told(s, "GET", "/v1") == "200 i - ");
    for (const char* path : {"/v1", "/v1/known", "/v1/%6bnown"}) {
        CAPTURE(path);
        CHECK(told(s, "PUT", path).starts_with("405 i GET, HEAD, OPTIONS not so i"));
        CHECK(told(s, "OPTIONS", path) == "204 i GET, HEAD, OPTIONS ");
        CHECK(told(s, "HEAD", path) == "200 i - ");
    }
    CHECK(told(s, "OPTIONS", "/v1/none") == "404 i - no i /v1/none");
    CHECK(told(s, "HEAD", "/v1/none") == "404 i - ");
    for (const char* path : {"/v1x", "/none", "/v", "//v1/none", "/v1%2Fnone", "/x/v1"}) {
        CAPTURE(path);
        CHECK(told(s, "GET", path) == "404 - - Not Found\n");
    }
    CHECK(told(s, "PUT", "/") == "405 - GET, HEAD, OPTIONS Method Not Allowed\n");
    CHECK(told(s, "OPTIONS", "*") == "204 - GET, HEAD, OPTIONS ");
}

TEST_CASE("routers within routers answer for their own prefixes, or those around them do") {
    router jobs = speaking("j");
    jobs.post("", answer(200));
    router quiet;
    quiet.use(notes("q")).get("/a", answer(200));
    router v1 = speaking("v");
    v1.mount("/jobs", std::move(jobs)).mount("/quiet", std::move(quiet));
    router routes = speaking("o");
    routes.mount("/v1", std::move(v1)).use(notes("p")); // though it was mounted before
    test::session_driver s(std::move(routes));
    CHECK(told(s, "GET", "/none") == "404 op - no o /none");
    CHECK(told(s, "GET", "/v1/none") == "404 opv - no v /v1/none");
    CHECK(told(s, "GET", "/v1/jobs/none") == "404 opvj - no j /v1/jobs/none");
    CHECK(told(s, "GET", "/v1/jobs") == "405 opvj POST, OPTIONS not so j");
    CHECK(told(s, "GET", "/v1/quiet/none") == "404 opvq - no v /v1/quiet/none");
    CHECK(told(s, "PUT", "/v1/quiet/a") == "405 opvq GET, HEAD, OPTIONS not so v");
    CHECK(told(s, "GET", "/v1/quiet/a") == "200 opvq - ");
    CHECK(told(s, "OPTIONS", "*") == "204 op GET, HEAD, POST, OPTIONS ");
}

TEST_CASE("a handler that is set after another router was mounted counts for that one, too") {
    router inner;
    inner.get("/a", answer(200));
    router routes;
    routes.mount("/v1", std::move(inner)).not_found(says("late", 404));
    routes.error([](int, std::string_view) { return response::text("late"); });
    test::session_driver s(std::move(routes));
    CHECK(told(s, "GET", "/v1/b") == "404 - - late /v1/b");
    CHECK(told(s, "PUT", "/v1/a") == "405 - GET, HEAD, OPTIONS late");
}

TEST_CASE("a prefix with parameters: they have values where no route is found, too") {
    router tenant;
    tenant.use([](request& req, next proceed) -> task<response> {
        const std::string who(req.param("tenant"));
        response answer = co_await proceed(req);
        answer.header("Through", who);
        co_return answer;
    });
    tenant.get("/{tenth}", answer(200));
    tenant.not_found([](const request& req) {
        return response::text("no such page of " + std::string(req.param("tenant"))).status(404);
    });
    router routes;
    routes.mount("/of/{tenant}", std::move(tenant));
    test::session_driver s(std::move(routes));
    CHECK(told(s, "GET", "/of/ann/x") == "200 ann - ");
    CHECK(told(s, "GET", "/of/ann") == "404 ann - no such page of ann");
    CHECK(told(s, "GET", "/of/a%2Fb/x/y") == "404 a/b - no such page of a/b");
    CHECK(told(s, "PUT", "/of/ann/x") == "405 ann GET, HEAD, OPTIONS Method Not Allowed\n");
    CHECK(told(s, "GET", "/of//x") == "404 - - Not Found\n");
    router twice;
    twice.mount("/{tenant}", router());
    CHECK_THROWS_AS(router().mount("/{tenant}", std::move(twice)), std::invalid_argument);
}

TEST_CASE("where several routers have a path under their prefixes one of them comes first") {
    router routes = speaking("o");
    router partly;
    partly.use(notes("p")).get("/a", answer(200));
    routes.mount("/v1", std::move(partly))
        .mount("/v1", speaking("s")) // at the same prefix: what the first does not say
        .mount("/{any}", speaking("y"))
        .mount("/v1/{deep}", speaking("d"))
        .mount("", speaking("e"))
        .mount("", speaking("f"));
    test::session_driver s(std::move(routes));
    CHECK(told(s, "GET", "/v1") == "404 op - no s /v1");
    CHECK(told(s, "PUT", "/v1/a") == "405 od GET, HEAD, OPTIONS not so d");
    CHECK(told(s, "GET", "/v2/a") == "404 oy - no y /v2/a");
    CHECK(told(s, "GET", "/v1/a/b") == "404 od - no d /v1/a/b");
    CHECK(told(s, "GET", "/") == "404 oe - no e /");
}

TEST_CASE("a registered OPTIONS wins over the answer that routers have by themselves") {
    router inner;
    inner.options("/a", says("mine", 200)).get("/a", answer(200));
    router routes;
    routes.mount("/v1", std::move(inner));
    test::session_driver s(std::move(routes));
    CHECK(told(s, "OPTIONS", "/v1/a") == "200 - - mine /v1/a");
}

TEST_CASE("a router that has been moved from ends the program with words") {
    const std::string_view words = "a router that has been moved from is not used";
    router routes;
    const router taken = std::move(routes);
    CHECK(last_words([&] { routes.get("/a", answer(200)); }).find(words) != std::string::npos);
    CHECK(last_words([&] {
              router outer;
              outer.mount("/v1", std::move(routes));
          }).find(words) != std::string::npos);
    routes = router();
    routes.get("/a", answer(200));
    CHECK(lookup(routes, method::get, "/a") == "/a");
}

TEST_CASE("only a plain handler without middleware is called directly") {
    router routes;
    routes.get("/plain", [](const request&) { return response(201); })
        .get("/coroutine", [](request&) -> task<response> { co_return response(202); })
        .post("/body", [](const request&, std::string) { return response(203); });
    CHECK(router_access::direct(router_access::match(routes, method::get, "/plain")) != nullptr);
    CHECK(router_access::direct(router_access::match(routes, method::get, "/coroutine")) ==
          nullptr);
    CHECK(router_access::direct(router_access::match(routes, method::post, "/body")) == nullptr);
    CHECK(router_access::direct(router_access::match(routes, method::get, "/none")) == nullptr);
    routes.use(
        [](request& req, next proceed) -> task<response> { co_return co_await proceed(req); });
    CHECK(router_access::direct(router_access::match(routes, method::get, "/plain")) == nullptr);
}

} // namespace
} // namespace rota::http
