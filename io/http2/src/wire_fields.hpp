#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include <nghttp2/nghttp2.h>

#include <rota/http/headers.hpp>
#include <rota/http/response.hpp>

namespace rota::http::h2 {

/// The fields of an answer in the form that nghttp2 takes them: it copies them, and makes names
/// lower case. Those of a connection of HTTP/1.1 are left out (RFC 9113 section 8.2.2). The views
/// live as long as this and what was added.
class wire_fields {
public:
    /// Replaces what is in `into`.
    explicit wire_fields(std::vector<nghttp2_nv>& into) noexcept : into_(into) { into_.clear(); }
    wire_fields(const wire_fields&) = delete;
    wire_fields& operator=(const wire_fields&) = delete;

    void add_status(int status);
    /// Status, Date, the answer's own fields, Content-Length.
    void add_head(const response& answer);
    /// "Name: value\r\n", several.
    void add_lines(std::string_view lines);

private:
    void add(std::string_view name, std::string_view value);

    std::vector<nghttp2_nv>& into_;
    std::array<char, 3> status_{};
    std::array<char, 20> length_{};
};

} // namespace rota::http::h2
