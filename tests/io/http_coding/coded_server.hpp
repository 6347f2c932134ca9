#pragma once

// Answers behind http::coding(), by way of a session of HTTP/1.1.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/http/coding.hpp>
#include <rota/http/router.hpp>

#include "answer_read.hpp"
#include "session_driver.hpp"

namespace rota::http::test {

inline const std::string long_text = coding::test::prose(5'000);

inline std::string request_of(std::string_view path, std::string_view accept,
                              std::string_view method = "GET", std::string_view more = "") {
    std::string text =
        std::string(method).append(" ").append(path).append(" HTTP/1.1\r\nHost: a\r\n");
    if (accept != "-")
        text.append("Accept-Encoding: ").append(accept).append("\r\n");
    return text.append(more).append("\r\n");
}

/// A server of `answer` at /.
class coded {
public:
    template <class Handler>
    explicit coded(Handler answer, coding_options options = {}, error_page page = {})
        : driver_(routes_of(std::move(answer), std::move(options), std::move(page))) {}

    answer_read ask(std::string_view accept, std::string_view method = "GET",
                    std::string_view more = "") {
        std::string bytes;
        for (std::string piece = driver_.exchange(request_of("/", accept, method, more));
             !piece.empty(); piece = driver_.receive())
            bytes += piece;
        REQUIRE(!bytes.empty());
        return answer_read(bytes);
    }
    test::session_driver& driver() noexcept { return driver_; }

private:
    template <class Handler>
    static router routes_of(Handler answer, coding_options options, error_page page) {
        router routes;
        routes.use(http::coding(std::move(options), std::move(page)));
        routes.get("/", answer).post("/", answer);
        return routes;
    }
    test::session_driver driver_;
};

inline std::vector<coding::format> there() {
    std::vector<coding::format> found;
    for (const auto each : {coding::format::zstd, coding::format::br, coding::format::gzip}) {
        if (coding::is_available(each))
            found.push_back(each);
    }
    return found;
}

} // namespace rota::http::test
