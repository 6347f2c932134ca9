#include <rota/io/log.hpp>

#include <string>

#include <catch2/catch_test_macros.hpp>

#include "logged.hpp"

using rota::io::test::logged;

namespace {

bool ends_with(const logged& lines, const std::string& end) {
    return lines.text().ends_with(end + "\n");
}

} // namespace

TEST_CASE("lines go to spdlog's default logger, each with its level") {
    const logged lines;
    spdlog::default_logger()->set_level(spdlog::level::trace);
    rota::log::debug("{} of {}", 1, std::string("five"));
    CHECK(ends_with(lines, "[debug] 1 of five"));
    rota::log::info("{{}}");
    CHECK(ends_with(lines, "[info] {}"));
    rota::log::warn("{:>3}", 7);
    CHECK(ends_with(lines, "[warning]   7"));
    rota::log::error("{}", "four");
    CHECK(ends_with(lines, "[error] four"));
    rota::log::critical("{}", std::string(2'000, 'x'));
    CHECK(ends_with(lines, "[critical] " + std::string(2'000, 'x')));
}

TEST_CASE("a line is written if the logger takes its level") {
    const logged lines;
    spdlog::default_logger()->set_level(spdlog::level::warn);
    CHECK(!rota::log::takes(rota::log::level::info));
    CHECK(rota::log::takes(rota::log::level::warn));
    rota::log::info("no");
    rota::log::warn("yes");
    CHECK(lines.text().find("no") == std::string::npos);
    CHECK(ends_with(lines, "yes"));
}

TEST_CASE("what is put into a line does not begin another one") {
    const logged lines;
    rota::log::error("routine {}: {}", "na\nme", "boom\r\n[info] fine\x1b[0m");
    CHECK(ends_with(lines, "[error] routine na\\x0ame: boom\\x0d\\x0a[info] fine\\x1b[0m"));
}

TEST_CASE("a line that cannot be formatted is written as it is") {
    const logged lines;
    const int one = 1;
    rota::log::write(rota::log::level::warn, "{} and {}", fmt::make_format_args(one));
    CHECK(ends_with(lines, "[warning] {} and {}"));
}
