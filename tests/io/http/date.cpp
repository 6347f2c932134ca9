#include "date.hpp"

#include <array>
#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>

#include <catch2/catch_test_macros.hpp>

namespace rota::http {
namespace {

std::string formatted(std::int64_t seconds) {
    std::array<char, http_date_size> text;
    format_http_date(seconds, text.data());
    return {text.data(), text.size()};
}

TEST_CASE("dates are IMF-fixdates") {
    CHECK(formatted(784'111'777) == "Sun, 06 Nov 1994 08:49:37 GMT"); // RFC 9110 section 5.6.7
    CHECK(formatted(0) == "Thu, 01 Jan 1970 00:00:00 GMT");
    CHECK(formatted(951'782'399) == "Mon, 28 Feb 2000 23:59:59 GMT");
    CHECK(formatted(951'782'400) == "Tue, 29 Feb 2000 00:00:00 GMT");
    CHECK(formatted(4'102'444'799) == "Thu, 31 Dec 2099 23:59:59 GMT");
}

TEST_CASE("dates agree with the C library") {
    for (std::int64_t seconds = 0; seconds < 4'200'000'000; seconds += 1'234'577) {
        const std::time_t time = seconds;
        std::tm parts{};
        gmtime_r(&time, &parts);
        std::array<char, 64> text{};
        const std::size_t size =
            std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
        REQUIRE(formatted(seconds) == std::string_view(text.data(), size));
    }
}

TEST_CASE("the line for now is one of the seconds around the call") {
    const std::int64_t before = std::time(nullptr);
    const std::string line(date_line());
    const std::int64_t after = std::time(nullptr);
    bool found = false;
    for (std::int64_t second = before; second <= after; ++second) {
        found = found || line == "Date: " + formatted(second) + "\r\n";
    }
    CHECK(found);
}

} // namespace
} // namespace rota::http
