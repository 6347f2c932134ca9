// Clients that take nothing of what there is: http::coding(), see coding.cpp for what they take.

#include <rota/http/coding.hpp>

#include <string>
#include <string_view>
#include <utility>

#include <catch2/catch_test_macros.hpp>

#include <rota/http/error.hpp>

#include "coded_server.hpp"

namespace rota::http {
namespace {

using coding::format;
using test::coded;
using test::long_text;

TEST_CASE("who takes nothing that there is gets a 406") {
    coded server([] { return response::text(long_text); });
    for (const auto* const accept : {"*;q=0", "identity;q=0", "identity;q=0, deflate",
                                     "identity;q=0.0, gzip;q=0, br;q=0.00, zstd;q=0.000"}) {
        const auto answer = server.ask(accept);
        CHECK(answer.status == 406);
        CHECK(answer.field("Vary") == "Accept-Encoding");
        CHECK(answer.field("Content-Encoding") == "-");
        CHECK(server.ask(accept, "HEAD").head == answer.head);
        CHECK(server.ask(accept, "POST").status == 200); // it has been done
    }
    coded paged([] { return response::text(long_text); }, {},
                [](int status, std::string_view) {
                    return response::text("page of " + std::to_string(status));
                });
    CHECK(paged.ask("*;q=0").text() == "page of 406");
    coded failing([]() -> response { throw http_error(404, "not there"); });
    CHECK(failing.ask("*;q=0").status == 404);
}

TEST_CASE("who refuses it as it is gets a 406 for what is never coded") {
    for (const auto& [name, value] :
         {std::pair("Content-Type", "image/png"), std::pair("Cache-Control", "no-transform")}) {
        coded server([&] { return response::text(long_text).header(name, value); });
        for (const auto* const accept : {"identity;q=0, gzip", "identity;q=0, *", "*;q=0"}) {
            const auto answer = server.ask(accept);
            CHECK(answer.status == 406);
            CHECK(answer.field("Vary") == "Accept-Encoding");
            CHECK(server.ask(accept, "HEAD").head == answer.head);
            CHECK(server.ask(accept, "POST").text() == long_text);
        }
    }
    coded packed([] { return response::text("x").header("Content-Encoding", "gzip"); });
    CHECK(packed.ask("identity;q=0, gzip").status == 200);
}

TEST_CASE("neither a condition nor a range makes acceptable what is not") {
    const bool gzip = coding::is_available(format::gzip);
    for (const int status : {206, 304, 412, 416}) {
        for (const auto* const type : {"text/plain", "image/png", ""}) {
            INFO(status << ' ' << type);
            coded server([&, type] {
                response answer = status == 304 ? response(304) : response::text("short");
                answer.stands_for({type, 5'000, true});
                return std::move(answer.status(status));
            });
            const bool chosen = *type == '\0'; // by who has answered
            CHECK(server.ask("identity;q=0").status == (chosen ? status : 406));
            const bool codable = std::string_view(type) == "text/plain" && gzip;
            CHECK(server.ask("identity;q=0, gzip").status == (chosen || codable ? status : 406));
            CHECK(server.ask("gzip").status == status);
            CHECK(server.ask("gzip").field("Content-Encoding") == "-");
        }
    }
    for (const int status : {206, 304, 404, 412, 416}) {
        coded untold([&] { return response::text("short").status(status); });
        CHECK(untold.ask("identity;q=0").status == (status < 400 ? 406 : status));
    }
}

} // namespace
} // namespace rota::http
