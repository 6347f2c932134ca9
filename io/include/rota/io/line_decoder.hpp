#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace rota::io {

/// Cuts bytes that arrive in any pieces into lines that end with LF or CRLF; keeps the unfinished
/// tail of one piece for the next. A CR that is not followed by LF is part of the line. No I/O, one
/// thread at a time.
class line_decoder {
public:
    /// Refuses lines of more than `max_bytes` bytes, without their end.
    explicit line_decoder(std::size_t max_bytes = 65536) noexcept : max_bytes_(max_bytes) {}

    /// Takes bytes up to the end of the first line, or all of them, and sets `used` to how many.
    /// Returns the line without its end, or nothing if more is needed. Throws std::length_error for
    /// a line above the limit.
    std::optional<std::string> feed(std::string_view bytes, std::size_t& used);

    /// Ends the stream: returns the unfinished last line, if there is one. The decoder starts
    /// afresh.
    std::optional<std::string> finish();

private:
    std::size_t max_bytes_;
    std::string tail_;
};

} // namespace rota::io
