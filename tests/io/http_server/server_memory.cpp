// What all requests to a server keep of their content, in whole servers.

#include <string>
#include <string_view>

#include <catch2/catch_test_macros.hpp>
#include <rota/http/server.hpp>

#include "server_driver.hpp"

namespace rota::http {
namespace {

constexpr std::size_t kept_step = memory_budget::step;

/// All that there is, while its client has not sent its content.
task<response> keep_all(request& req) {
    req.body().keep(5 * kept_step);
    const std::string whole = co_await req.text();
    co_return response::text(std::to_string(whole.size()));
}

router keeping() {
    router made;
    made.post("/hold", keep_all).post("/whole", [](const request&, std::string content) {
        return response::text(std::to_string(content.size()));
    });
    return made;
}

std::string head_of_content(std::string_view path, std::size_t size, std::string_view more = "") {
    return "POST " + std::string(path) +
           " HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(size) + "\r\n" +
           std::string(more) + "\r\n";
}

std::string posting(std::string_view path, std::size_t size) {
    return head_of_content(path, size) + std::string(size, 'x');
}

} // namespace

TEST_CASE("content that is kept has a bound over all requests", "[server]") {
    io::context ctx(two_workers(each_layout()));
    server_options options;
    options.content_memory_bytes_max = 4 * kept_step;
    running s(ctx, keeping(), std::move(options));
    for (int round = 0; round < 2; ++round) {
        const client holds(s.address());
        holds.send(head_of_content("/hold", 5, "Expect: 100-continue\r\n"));
        CHECK(holds.read_just_to("\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n"); // so it has kept
        {
            const client large(s.address());
            large.send(posting("/whole", kept_step + 1));
            const std::string refused = large.read_to("at the moment\n");
            CHECK(refused.starts_with("HTTP/1.1 503 "));
            CHECK(refused.find("\r\nRetry-After: 1\r\n") != std::string::npos);
        }
        const client neighbour(s.address());
        neighbour.send(posting("/whole", kept_step));
        CHECK(neighbour.read_to("16384").starts_with("HTTP/1.1 200 "));
        holds.send("12345");
        CHECK(holds.read_to("\r\n\r\n5").starts_with("HTTP/1.1 200 "));
        for (int i = 0; i < 3; ++i) { // each gives back what it has kept
            neighbour.send(posting("/whole", 4 * kept_step));
            CHECK(neighbour.read_to("65536").starts_with("HTTP/1.1 200 "));
        }
    }
}

} // namespace rota::http
