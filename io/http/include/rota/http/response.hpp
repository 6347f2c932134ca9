#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <rota/http/body.hpp>
#include <rota/http/headers.hpp>

namespace rota::http {

/// A string literal, or other text that the compiler can see is static.
struct literal {
    // NOLINTNEXTLINE(google-explicit-constructor): meant for literals as arguments
    consteval literal(const char* chars) : text(chars) {}
    std::string_view text;
};

/// What a handler answers. A value that moves; used by one thread at a time.
///
/// The server adds Date, Content-Length or Transfer-Encoding, and Connection. Its content is sent
/// neither for HEAD nor with a status that has none (204, 304).
class response {
public:
    /// An empty answer. Throws std::invalid_argument for a status outside 200..599.
    explicit response(int status = 200);

    /// Content that the response owns.
    static response text(std::string body);
    static response html(std::string body);
    static response json(std::string body);
    static response with_body(std::string body, std::string_view content_type);
    /// Content in static storage, which is not copied.
    static response fixed(literal body, literal content_type = "text/plain; charset=utf-8");
    /// Content written as it comes to be: chunked, or until the connection closes for an HTTP/1.0
    /// client. If the producer throws, the connection is cut without the end of the content, so the
    /// client can tell.
    static response stream(body_producer producer,
                           std::string_view content_type = "application/octet-stream");
    /// The same with a known length; writing less or more cuts the connection.
    static response stream(std::uint64_t length, body_producer producer,
                           std::string_view content_type = "application/octet-stream");
    static response redirect(std::string_view location, int status = 302);

    [[nodiscard]] int status() const noexcept { return status_; }
    response& status(int code) &;
    response&& status(int code) && { return std::move(status(code)); }

    [[nodiscard]] const http::headers& headers() const noexcept { return headers_; }
    [[nodiscard]] http::headers& headers() noexcept { return headers_; }
    /// Replaces the field; see headers::set().
    response& header(std::string_view name, std::string_view value) &;
    response&& header(std::string_view name, std::string_view value) && {
        return std::move(header(name, value));
    }

    /// Closes the connection behind this answer.
    response& close() & noexcept;
    response&& close() && noexcept { return std::move(close()); }
    [[nodiscard]] bool closes() const noexcept { return close_; }

    /// The content unless it is streamed.
    [[nodiscard]] std::string_view body() const noexcept {
        return kind_ == kind::owned ? std::string_view(owned_) : fixed_;
    }
    [[nodiscard]] bool streamed() const noexcept { return kind_ == kind::streamed; }
    /// How long the content is, if that is known beforehand.
    [[nodiscard]] std::optional<std::uint64_t> length() const noexcept;

    // What the session does with it.

    /// Takes the owned content out, to send it without a copy; empty if the content is not owned.
    [[nodiscard]] std::string take_owned_body() noexcept;
    [[nodiscard]] body_producer& producer() noexcept { return producer_; }

private:
    enum class kind : std::uint8_t { fixed, owned, streamed };

    http::headers headers_;
    std::string owned_;
    std::string_view fixed_;
    body_producer producer_;
    std::uint64_t length_ = 0;
    std::int16_t status_ = 200;
    kind kind_ = kind::fixed;
    bool length_known_ = false;
    bool close_ = false;
};

} // namespace rota::http
