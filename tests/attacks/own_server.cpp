// The smallest kind of program that the library is for: routes, and http::serve(). Says where it
// listens as the library does. Usage: own_server [epoll] [per_worker | dedicated]

#include <charconv>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include <rota/http/server.hpp>
#include <rota/sleep.hpp>

namespace {

using rota::task;
using rota::http::request;
using rota::http::response;

task<response> echo(request& req) {
    std::string text = co_await req.text();
    co_return response::text(std::move(text));
}

task<response> sleep_then_answer(request& req) {
    const std::string_view text = req.param("ms");
    int ms = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), ms).ec != std::errc())
        throw rota::http::http_error(400, "no number");
    co_await rota::sleep_for(std::chrono::milliseconds(ms));
    co_return response::text("slept\n");
}

int serve(int count, char** words) {
    rota::io::context_options context;
    context.workers = 2;
    for (int i = 1; i < count; ++i) {
        const std::string_view word = words[i];
        if (word == "epoll") {
            context.reactor.backend = rota::io::backend_kind::epoll;
        } else if (word == "per_worker") {
            context.reactor.topology = rota::io::topology::per_worker;
        } else {
            context.reactor.topology = rota::io::topology::dedicated;
        }
    }
    rota::http::server_options options;
    options.limits.header_timeout = std::chrono::seconds(5);
    options.limits.idle_timeout = std::chrono::seconds(5);
    rota::http::router routes;
    routes.get("/plaintext", [] { return response::fixed("Hello, World!"); })
        .get("/hello/{name}",
             [](const request& req) { return response::text(std::string(req.param("name"))); })
        .get("/sleep/{ms}", sleep_then_answer)
        .post("/echo", echo);
    return rota::http::serve(std::move(routes), "127.0.0.1:0", std::move(options), context);
}

} // namespace

int main(int count, char** words) {
    return rota::io::exit_code_of([&] { return serve(count, words); });
}
