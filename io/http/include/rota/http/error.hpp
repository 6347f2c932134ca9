#pragma once

#include <exception>

namespace rota::http {

/// A failure that has an answer: a handler that throws it, or lets it pass, is answered with this
/// status and a short text, or what router::error() makes of it. Reading a request body throws it
/// for a body that is malformed (400), too slow (408) or too large (413); the connection is closed
/// after such an answer.
class http_error : public std::exception {
public:
    /// `reason` is a string literal; it is sent to the client.
    http_error(int status, const char* reason) noexcept : status_(status), reason_(reason) {}

    [[nodiscard]] int status() const noexcept { return status_; }
    [[nodiscard]] const char* what() const noexcept override { return reason_; }

private:
    int status_;
    const char* reason_;
};

} // namespace rota::http
