#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <rota/http/limits.hpp>
#include <rota/http/request_head.hpp>

#include "grammar.hpp"
#include "request_line.hpp"

namespace rota::http {

enum class parse_event : std::uint8_t {
    need_more, // everything given was taken; the next step needs more bytes
    head,      // head() is complete and checked
    body,      // body_piece() is the next piece of the content
    complete,  // the message is over; reset() before the next one
    error,     // error() says why; nothing else can be done with this connection
};

/// HTTP/1.1 requests from bytes, sans I/O: bytes in, "need more / got one / error" out. Used by one
/// thread at a time.
///
/// Bytes are taken in lines. A line is checked as a whole (line ends, control characters, length),
/// then its grammar is checked by llhttp, then its meaning by the rules of request_line and
/// head_rules; data inside a body passes through. Lines of a head that can be read in one way only
/// are read here; from the first that is not plain, or says something about content, llhttp reads
/// the head from its beginning (tested against each other). Because nothing is decided on part of a
/// line that the whole line would not decide the same way, the result does not depend on how the
/// bytes were cut (tested for every cut).
///
/// A head that is the one before, byte by byte, is not read again: one that is plain and lies in
/// one piece is compared first.
///
/// Lifetime: a head that lies in one piece in the bytes given to feed() is not copied; its views
/// point into those bytes until keep_head() is called. Otherwise they point into the parser's own
/// buffer, which keeps its capacity. Nothing is allocated for a small request once the buffers have
/// their size.
class request_parser {
public:
    struct result {
        parse_event event;
        std::size_t consumed;
    };

    /// `limits` outlives the parser. With `all_by_llhttp` no line counts as plain.
    explicit request_parser(const parser_limits& limits, bool all_by_llhttp = false) noexcept
        : limits_(&limits), all_by_llhttp_(all_by_llhttp), plain_(!all_by_llhttp),
          body_max_(limits.body_bytes_max) {}

    /// Takes bytes that follow those taken before, up to the next event. With `complete` nothing is
    /// taken.
    [[nodiscard]] result feed(std::string_view bytes);

    /// Ready for the next message.
    void reset() noexcept;

    /// From here on the message may have no more content than `bytes` in all, nor than the limits
    /// say. False if more has been announced already.
    [[nodiscard]] bool limit_body(std::uint64_t bytes) noexcept;

    /// Copies the head into the parser if it is not there yet: the bytes given to feed() may go
    /// away.
    void keep_head();

    [[nodiscard]] const request_head& head() const noexcept { return head_; }
    /// The head is that of the message before, byte by byte.
    [[nodiscard]] bool repeated() const noexcept { return repeated_; }
    [[nodiscard]] std::string_view body_piece() const noexcept { return piece_; }
    [[nodiscard]] header_list trailers() const noexcept {
        return {trailer_text_.data(), trailers_};
    }
    [[nodiscard]] const parse_error& error() const noexcept { return error_; }
    /// The whole message has been taken.
    [[nodiscard]] bool complete() const noexcept { return state_ == state::complete; }
    /// Empty lines that have come before the message, and for a parser that goes on for another.
    [[nodiscard]] std::size_t empty_lines() const noexcept { return empty_lines_; }
    void resume_after(std::size_t empty_lines) noexcept { empty_lines_ = empty_lines; }
    /// After an error: whether all that has come is the first line of HTTP/2's preface (RFC 9113
    /// section 3.4).
    [[nodiscard]] bool at_http2_preface() const noexcept;
    /// Something of a request has arrived; false between two messages, even behind stray empty
    /// lines.
    [[nodiscard]] bool started() const noexcept;

private:
    enum class state : std::uint8_t {
        request_line,
        fields,
        sized_body,
        chunk_line,
        chunk_data,
        chunk_end,
        trailers,
        complete,
        failed,
    };

    [[nodiscard]] result feed_head(std::string_view bytes);
    [[nodiscard]] bool repeats(std::string_view bytes) const noexcept;
    [[nodiscard]] bool is_worth_remembering() const noexcept;
    void remember_head();
    [[nodiscard]] parse_event begin_content() noexcept;
    [[nodiscard]] result feed_head_buffered(std::string_view bytes);
    [[nodiscard]] result feed_sized_body(std::string_view bytes) noexcept;
    [[nodiscard]] result feed_chunked(std::string_view bytes);
    [[nodiscard]] result feed_chunk_data(std::string_view bytes, std::size_t taken);
    [[nodiscard]] parse_event set_aside(std::string_view bytes);
    [[nodiscard]] bool take_line(std::string_view bytes, std::size_t& taken,
                                 std::string_view& line);

    [[nodiscard]] parse_event on_head_line(std::string_view line);
    [[nodiscard]] parse_event on_request_line(std::string_view line, std::string_view content);
    [[nodiscard]] parse_event on_head_end(std::string_view line);
    [[nodiscard]] parse_event on_body_line(std::string_view line);
    [[nodiscard]] parse_event on_chunk_line(std::string_view line, std::string_view content);
    [[nodiscard]] parse_event on_trailer_line(std::string_view line, std::string_view content);

    [[nodiscard]] bool take_plain_field(std::string_view line);
    [[nodiscard]] bool ask_llhttp(std::string_view line);
    [[nodiscard]] bool framing_agrees(std::string_view last_line);
    [[nodiscard]] std::size_t content_max() const noexcept;
    [[nodiscard]] bool check_part(std::string_view content);
    [[nodiscard]] bool check_line(std::string_view line);
    parse_event fail(parse_error error) noexcept;

    const parser_limits* limits_;
    const bool all_by_llhttp_;
    bool plain_;                // every line so far, so llhttp has seen none of them
    bool plain_length_ = false; // one of the plain lines was a Content-Length
    std::size_t asked_ = 0;     // in the head: up to where llhttp has read
    std::string shown_;         // to llhttp, in place of what it does not take
    grammar grammar_;
    request_head head_;
    std::string last_text_;  // the last head, if it may be repeated
    request_head last_head_; // what it said
    bool repeated_ = false;
    bool is_first_ = true;            // message
    std::string buffer_;              // the head, when it came in pieces or was kept
    std::size_t line_start_ = 0;      // in the head: where the current line starts
    std::uint64_t body_max_;          // of this message
    std::uint64_t body_left_ = 0;     // of the sized body, or of the chunk
    std::uint64_t body_received_ = 0; // of the chunked body
    std::string_view piece_;
    std::string partial_line_; // of the chunked framing
    std::string trailer_text_;
    std::vector<field_span> trailers_;
    std::size_t chunk_extension_bytes_ = 0;
    std::size_t empty_lines_ = 0;
    parse_error error_;
    state state_ = state::request_line;
};

} // namespace rota::http
