#include <rota/http/tracing.hpp>

#include <string>
#include <string_view>
#include <utility>

#include <catch2/catch_test_macros.hpp>

#include "session_driver.hpp"

namespace rota::http {
namespace {

const std::string known = "0af7651916cd43dd8448eb211c80319c";
const std::string field = "traceparent: 00-" + known + "-b7ad6b7169203331-01\r\n";

/// "trace parent span sampled|state" as a handler sees it.
std::string seen(std::string_view fields, tracing_options options = {}) {
    router routes;
    routes.use(tracing(std::move(options)));
    routes.get("/", [](const request& r) {
        const trace_context* const t = r.trace();
        return response::text(t->to_string() + ' ' + std::string(t->parent_id.data(), 16) + '|' +
                              t->state);
    });
    test::session_driver s(std::move(routes));
    const std::string got =
        s.exchange("GET / HTTP/1.1\r\nHost: a\r\n" + std::string(fields) + "\r\n");
    return got.substr(got.find("\r\n\r\n") + 4);
}

std::string trace_of(std::string_view text) { return std::string(text.substr(3, 32)); }

} // namespace

TEST_CASE("a trace is gone on with, under a span of its own") {
    const std::string got = seen(field + "tracestate: a=1,b=2\r\ntracestate: c=3\r\n");
    CHECK(trace_of(got) == known);
    CHECK(got.substr(36, 16) != "b7ad6b7169203331");
    CHECK(got.substr(52) == "-01 b7ad6b7169203331|a=1,b=2, c=3");
}

TEST_CASE("without a good one another trace begins, each its own") {
    for (const std::string& fields :
         {std::string(), std::string("traceparent: nonsense\r\ntracestate: a=1\r\n"),
          field + field}) {
        const std::string one = seen(fields);
        const std::string two = seen(fields);
        CAPTURE(one);
        CHECK(trace_of(one) != known);
        CHECK(trace_of(one) != trace_of(two));
        CHECK(one.substr(52) == "-00 0000000000000000|");
    }
    CHECK(seen("", {.sampled = true}).substr(52) == "-01 0000000000000000|");
}

TEST_CASE("traces of strangers may begin anew, and lists that are too long are left out") {
    CHECK(trace_of(seen(field, {.from = io::network_list({"10.0.0.0/8"})})) != known);
    std::string members = "a=1";
    for (int i = 0; i < 32; ++i)
        members += ",b" + std::to_string(i) + "=1";
    CHECK(seen(field + "tracestate: " + members + "\r\n").ends_with('|'));
    CHECK(seen(field + "tracestate: a=" + std::string(5'000, 'x') + "\r\n").ends_with('|'));
}

TEST_CASE("without the middleware there is no trace") {
    router routes;
    routes.get("/", [](const request& r) {
        return response::text(r.trace() == nullptr && r.id().empty() ? "none" : "some");
    });
    test::session_driver s(std::move(routes));
    CHECK(s.exchange("GET / HTTP/1.1\r\nHost: a\r\n" + field + "\r\n").ends_with("none"));
}

} // namespace rota::http
