#include <rota/errors.hpp>

#include <string>

#include <catch2/catch_test_macros.hpp>

TEST_CASE(
    "a timeout is a system_error with its code, a cancellation is not an error of the system") {
    const rota::timed_out timeout;
    REQUIRE(timeout.code() == std::errc::timed_out);
    const rota::operation_cancelled cancelled;
    REQUIRE(std::string(cancelled.what()) == "operation cancelled");
    const std::exception& base = cancelled;
    REQUIRE(dynamic_cast<const std::system_error*>(&base) == nullptr);
}
