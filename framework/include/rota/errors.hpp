#pragma once

#include <exception>
#include <system_error>

namespace rota {

/// Thrown out of a wait whose stop token was requested. What the wait was for is untouched: no
/// value, permit or byte is lost. A routine that ends with it has ended in good order; it is not
/// reported as an error.
struct operation_cancelled : std::exception {
    [[nodiscard]] const char* what() const noexcept override { return "operation cancelled"; }
};

/// Thrown by with_timeout() and by operations that take a deadline when the time is up first. Its
/// code is std::errc::timed_out.
struct timed_out : std::system_error {
    timed_out() : std::system_error(std::make_error_code(std::errc::timed_out)) {}
    [[nodiscard]] const char* what() const noexcept override { return "timed out"; }
};

} // namespace rota
