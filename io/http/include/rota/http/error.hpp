#pragma once

#include <concepts>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <rota/http/literal.hpp>

namespace rota::http {

/// A failure that has an answer: a handler that throws it, or lets it pass, is answered with this
/// status and a short text, or what router::error() makes of it. Reading a request body throws it
/// for a body that is malformed (400), too slow (408) or too large (413); the connection is closed
/// after such an answer. A status outside 400..599 becomes 500, and is reported. Copies share their
/// texts, and do not throw.
class http_error : public std::exception {
public:
    /// `reason` is a few words, which are sent to the client.
    http_error(int status, literal reason) noexcept
        : status_(status), reason_(reason.text.data()) {}
    /// Takes any other text: what(), a std::string. It is copied.
    template <class Text>
    requires(std::convertible_to<Text, std::string> &&
             !std::is_same_v<std::remove_extent_t<std::remove_reference_t<Text>>, const char>)
        http_error(int status, Text&& reason)
        : http_error(status, std::string(std::forward<Text>(reason)), std::string()) {}
    /// Has an answer of its own: sent as it is, whatever router::error() says. See problem.
    http_error(int status, std::string content, std::string content_type)
        : status_(status),
          own_(std::make_shared<const text>(text{std::move(content), std::move(content_type)})),
          reason_(own_->content.c_str()) {}

    [[nodiscard]] int status() const noexcept { return status_; }
    /// Returns the reason, or the content of an answer of its own.
    [[nodiscard]] const char* what() const noexcept override { return reason_; }
    /// Returns the content type of an answer of its own; else an empty text.
    [[nodiscard]] std::string_view content_type() const noexcept {
        return own_ ? std::string_view(own_->content_type) : std::string_view();
    }

private:
    struct text {
        std::string content;
        std::string content_type;
    };
    int status_;
    std::shared_ptr<const text> own_;
    const char* reason_;
};

} // namespace rota::http
