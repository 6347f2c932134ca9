// rota-middleware: /plaintext with one kind of middleware around it, or none, for instructions/.
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include <rota/http/access_log.hpp>
#include <rota/http/auth.hpp>
#include <rota/http/caching.hpp>
#include <rota/http/cors.hpp>
#include <rota/http/guard.hpp>
#include <rota/http/rate_limit.hpp>
#include <rota/http/request_id.hpp>
#include <rota/http/request_limits.hpp>
#include <rota/http/security_headers.hpp>
#include <rota/http/server.hpp>
#include <rota/http/tracing.hpp>
#include <rota/http/trusted_proxies.hpp>

namespace {

namespace http = rota::http;
using http::middleware;

middleware pass_on() {
    return [](http::request& req, http::next proceed) { return proceed(req); };
}

middleware trusted_proxies() {
    return http::trusted_proxies({.from = rota::io::network_list({"127.0.0.0/8"})});
}

middleware cors() { return http::cors({.origins = {"https://app.example"}}); }

/// So that nobody is refused.
middleware rate_limit() { return http::rate_limit({.per_second = 1e6, .burst = 1e6}); }

middleware basic_auth() { return http::basic_auth({.users = {{"ann", "secret"}}}); }

middleware bearer_auth() {
    return http::bearer_auth({.check = [](std::string_view token) {
        return token == "token-1" ? std::optional<std::string>("ann") : std::nullopt;
    }});
}

middleware guard() {
    return http::guard::around(std::make_shared<const http::guard>(http::guard_options{}));
}

const std::map<std::string, middleware (*)()>& known() {
    using namespace std::chrono_literals;
    static const std::map<std::string, middleware (*)()> all{
        {"pass_on", pass_on},
        {"trusted_proxies", trusted_proxies},
        {"request_id", [] { return http::request_id(); }},
        {"tracing", [] { return http::tracing(); }},
        {"security_headers", [] { return http::security_headers(); }},
        {"cors", cors},
        {"rate_limit", rate_limit},
        {"basic_auth", basic_auth},
        {"bearer_auth", bearer_auth},
        {"guard", guard},
        {"concurrency_limit", [] { return http::concurrency_limit({.at_once = 64}); }},
        {"time_limit", [] { return http::time_limit(10s); }},
        {"body_limit", [] { return http::body_limit(65'536); }},
        {"etag", [] { return http::etag(); }},
        {"cache_control", [] { return http::cache_control("max-age=60"); }},
    };
    return all;
}

} // namespace

int main(int argc, char** argv) {
    std::uint16_t port = 8080;
    std::string with = "none";
    CLI::App app("Serves /plaintext on 127.0.0.1 by one worker and epoll.", "rota-middleware");
    app.add_option("--port", port, "Port to listen on")->check(CLI::Range(1, 65535));
    app.add_option("--with", with, "Middleware around it, access_log, or none");
    CLI11_PARSE(app, argc, argv);

    http::router routes;
    http::server_options options;
    if (with == "access_log") {
        options.hooks.on_access = http::access_log::hook(
            std::make_shared<http::access_log>(http::access_log_options{.path = "/dev/null"}));
    } else if (with != "none") {
        const auto found = known().find(with);
        if (found == known().end()) {
            std::fprintf(stderr, "rota-middleware: no middleware is called %s\n", with.c_str());
            return 2;
        }
        routes.use(found->second());
    }
    routes.get("/plaintext", [] { return http::response::fixed("Hello, World!"); });
    rota::io::context_options carried;
    carried.workers = 1;
    carried.reactor.backend = rota::io::backend_kind::epoll;
    return http::serve(std::move(routes), "127.0.0.1:" + std::to_string(port), std::move(options),
                       carried);
}
