#include "answers.hpp"

#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/errors.hpp>
#include <rota/http/error.hpp>

namespace rota::http {
namespace {

TEST_CASE("what handlers throw becomes an answer") {
    std::vector<std::string> reported;
    session_hooks hooks;
    hooks.on_error = [&reported](std::string_view message) { reported.emplace_back(message); };
    const request_head head;
    const request req(head, nullptr);
    std::stop_source stop;
    const auto answer = [&](const auto& thrown, bool client_gone = false) {
        const http_error what =
            failure_of(std::make_exception_ptr(thrown), req, stop.get_token(), client_gone, &hooks);
        const response made = error_answer(nullptr, what);
        return std::to_string(made.status()) + ' ' + std::string(made.body());
    };
    const std::error_code reset = std::make_error_code(std::errc::connection_reset);

    CHECK(answer(http_error(413, "too much")) == "413 Content Too Large: too much\n");
    CHECK(answer(http_error(404, "")) == "404 Not Found\n");
    CHECK(reported.empty());
    CHECK(answer(http_error(200, "no error")) == "500 Internal Server Error\n");
    CHECK(answer(std::runtime_error("secret")) == "500 Internal Server Error\n");
    CHECK(answer(7) == "500 Internal Server Error\n");
    CHECK(answer(std::system_error(reset)) == "500 Internal Server Error\n");
    CHECK(answer(operation_cancelled()) == "500 Internal Server Error\n");
    CHECK(reported.size() == 5);
    CHECK(reported[0] ==
          "handler of GET / threw: http_error of 200, which is no failure: no error");
    CHECK(reported[1] == "handler of GET / threw: secret");

    CHECK_THROWS_AS(answer(std::system_error(reset), true), std::system_error);
    stop.request_stop();
    CHECK_THROWS_AS(answer(operation_cancelled()), operation_cancelled);
    CHECK(reported.size() == 5);
}

TEST_CASE("a file that changes is a warning, or an error where nothing takes those") {
    std::vector<std::string> reported;
    session_hooks hooks;
    const request_head head;
    const request req(head, nullptr);
    report_changed_file(req, nullptr);
    report_changed_file(req, &hooks);
    hooks.on_error = [&reported](std::string_view) { reported.emplace_back("error"); };
    report_changed_file(req, &hooks);
    hooks.on_warning = [&reported](std::string_view) { reported.emplace_back("warning"); };
    report_changed_file(req, &hooks);
    hooks.on_warning = [](std::string_view) { throw 1; };
    report_changed_file(req, &hooks);
    CHECK(reported == std::vector<std::string>{"error", "warning"});
}

TEST_CASE("a report is one line, whatever was thrown") {
    struct without_text : std::exception {
        [[nodiscard]] const char* what() const noexcept override { return nullptr; }
    };
    std::vector<std::string> reported;
    session_hooks hooks;
    hooks.on_error = [&reported](std::string_view message) { reported.emplace_back(message); };
    const request_head head;
    const request req(head, nullptr);
    report(std::make_exception_ptr(without_text()), req, &hooks);
    report(std::make_exception_ptr(std::runtime_error("J\xc3\xb6rg\r\n\x1b[31m\x7f ~")), req,
           &hooks);
    REQUIRE(reported.size() == 2);
    CHECK(reported[0] == "handler of GET / threw: an exception without a text");
    CHECK(reported[1] == "handler of GET / threw: J\xc3\xb6rg\\x0d\\x0a\\x1b[31m\\x7f ~");
}

TEST_CASE("a report that fails does no harm") {
    session_hooks hooks;
    hooks.on_error = [](std::string_view) { throw std::runtime_error("disk full"); };
    const request_head head;
    const request req(head, nullptr);
    report(std::make_exception_ptr(1), req, &hooks);
    report(std::make_exception_ptr(1), req, nullptr);
    report_thrown("error page", std::make_exception_ptr(1), &hooks);
    report_thrown("error page", std::make_exception_ptr(1), nullptr);
    SUCCEED();
}

} // namespace
} // namespace rota::http
