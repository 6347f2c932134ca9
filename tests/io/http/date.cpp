#include <rota/http/date.hpp>

#include <array>
#include <chrono>
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

TEST_CASE("dates are read in the three forms of the standard") {
    const std::chrono::sys_seconds then{std::chrono::seconds(784'111'777)};
    CHECK(parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT") == then);
    CHECK(parse_http_date("Sunday, 06-Nov-94 08:49:37 GMT") == then);
    CHECK(parse_http_date("Sun Nov  6 08:49:37 1994") == then);
    CHECK(http_date(then) == "Sun, 06 Nov 1994 08:49:37 GMT");
    for (std::int64_t seconds = 0; seconds < 4'200'000'000; seconds += 12'345'679) {
        const std::chrono::sys_seconds time{std::chrono::seconds(seconds)};
        REQUIRE(parse_http_date(http_date(time)) == time);
    }
}

TEST_CASE("a year of two digits is at most 50 years ahead") {
    using namespace std::chrono;
    const auto now = sys_days(year(2026) / 11 / 23);
    const auto year_of = [&](std::string_view text) {
        return static_cast<int>(year_month_day(floor<days>(*parse_http_date(text, now))).year());
    };
    CHECK(year_of("Monday, 01-Jan-76 00:00:00 GMT") == 2076);
    CHECK(year_of("Monday, 23-Nov-76 00:00:00 GMT") == 2076);
    CHECK(year_of("Monday, 23-Nov-76 00:00:01 GMT") == 1976);
    CHECK(year_of("Monday, 31-Dec-76 23:59:59 GMT") == 1976);
    CHECK(year_of("Monday, 01-Jan-77 00:00:00 GMT") == 1977);
    CHECK(year_of("Monday, 01-Jan-00 00:00:00 GMT") == 2000);
}

TEST_CASE("a year of two digits is one that has the day") {
    using namespace std::chrono;
    const auto read = [](std::string_view text, sys_days now) {
        const auto found = parse_http_date(text, now);
        return found ? http_date(*found) : "none";
    };
    constexpr std::string_view leap = "Monday, 29-Feb-00 00:00:00 GMT";
    CHECK(read(leap, year(2026) / 11 / 23) == "Tue, 29 Feb 2000 00:00:00 GMT");
    CHECK(read(leap, year(2060) / 1 / 1) == "Tue, 29 Feb 2000 00:00:00 GMT"); // 2100 has none
    CHECK(read("Monday, 29-Feb-01 00:00:00 GMT", year(2026) / 11 / 23) == "none");
    // From a day that is not there 50 years later.
    constexpr std::string_view march = "Monday, 01-Mar-74 00:00:00 GMT";
    CHECK(read(march, year(2024) / 2 / 29) == "Thu, 01 Mar 2074 00:00:00 GMT");
    CHECK(read(march, year(2024) / 2 / 28) == "Fri, 01 Mar 1974 00:00:00 GMT");
    CHECK(read("Monday, 01-Jan-00 00:00:00 GMT", year(2099) / 12 / 31) ==
          "Fri, 01 Jan 2100 00:00:00 GMT");
}

TEST_CASE("what is no date is none") {
    for (std::string_view text : {"",
                                  "Sun",
                                  "Sun, 06 Nov 1994 08:49:37",
                                  "Sun, 06 Nov 1994 08:49:37 UTC",
                                  "Sun, 31 Feb 1994 08:49:37 GMT",
                                  "Sun, 06 Nov 1994 24:00:00 GMT",
                                  "Sun, 06 Nov 1994 08:60:37 GMT",
                                  "Sun, 06 Nov 1994 08:49:61 GMT",
                                  "Son, 06 Nov 1994 08:49:37 GMT",
                                  "Sun, 06 Nox 1994 08:49:37 GMT",
                                  "Sun, +6 Nov 1994 08:49:37 GMT",
                                  "Sun, 00 Nov 1994 08:49:37 GMT",
                                  "Sunday, 06-Nov-1994 08:49:37 GMT",
                                  "Sundax, 06-Nov-94 08:49:37 GMT",
                                  "Sunday,",
                                  "Sun Nov  6 08:49:37 94",
                                  "Sun Nov 06 08.49.37 1994",
                                  "0",
                                  "784111777",
                                  "Sun, 06 Nov 1994 08:49:37 GMT "}) {
        CAPTURE(text);
        CHECK_FALSE(parse_http_date(text));
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
