#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <rota/http/form_step.hpp>

namespace rota::http {

/// Reads multipart content (RFC 2046 section 5.1.1) from bytes that come in pieces, cut anywhere;
/// what the parts mean is for others (form.hpp). Knows no socket, copies no content, and holds the
/// head of one part at most. Used by one thread at a time.
///
///     std::string_view input = piece;
///     for (form_step at = parser.next(input); at != form_step::more; at = parser.next(input))
///         ...
///
/// Lines end with CRLF. Text before the first delimiter and after the last one is skipped. A line
/// that begins with the delimiter has to be one, followed by spaces and tabs at most.
class multipart_parser {
public:
    /// What is accepted. More parts, or a longer head, is a failure with 413.
    struct limits {
        std::size_t parts_max = 1'000;
        std::size_t head_bytes_max = 16'384; ///< of one part, with line ends
    };

    /// Throws std::invalid_argument for an invalid boundary (valid_boundary()).
    explicit multipart_parser(std::string_view boundary) : multipart_parser(boundary, limits()) {}
    multipart_parser(std::string_view boundary, limits most);

    /// Returns whether `text` is 1 to 70 of the characters that RFC 2046 allows, the last of them
    /// not a space.
    [[nodiscard]] static bool valid_boundary(std::string_view text) noexcept;

    /// Goes on to the next step, and takes what it used off the front of `input`.
    form_step next(std::string_view& input);
    /// Does the same, once there is no more input. Returns `end` or `failed`.
    form_step finish();

    /// Returns, at `part`, the lines of its head, each with its line end. Valid until the next
    /// call.
    [[nodiscard]] std::string_view head() const noexcept { return head_; }
    /// Returns, at `data`, the piece; valid until the next call, and as long as the input is.
    [[nodiscard]] std::string_view data() const noexcept { return data_; }
    [[nodiscard]] form_failure failure() const noexcept { return failure_; }

private:
    enum class state : std::uint8_t {
        preamble,
        delimited, // "--boundary" was there
        padding,
        line_feed, // of the delimiter's line
        head,
        content,
        dash, // the first of two behind the delimiter
        closed,
        closed_line_feed,
        epilogue,
        failed,
    };

    form_step scan(std::string_view& input);
    [[nodiscard]] std::size_t find_delimiter(std::string_view input) const noexcept;
    form_step end_line(char c) noexcept;
    form_step read_head(std::string_view& input);
    form_step fail(int status, const char* reason) noexcept;
    /// Begins as if the line end before a delimiter had been there.
    void begin_line() noexcept { matched_ = granted_ = 2; }

    std::string delimiter_; // CRLF "--" boundary
    limits limits_;
    std::string head_;
    std::size_t line_ = 0; // where the line begins that the head ends with
    std::string_view data_;
    form_failure failure_;
    std::size_t matched_ = 0; // of the delimiter, in the input so far
    std::size_t granted_ = 0; // of these: what was not in the content
    std::size_t parts_ = 0;
    state state_ = state::preamble;
    bool preamble_ = false; // there was one
};

} // namespace rota::http
