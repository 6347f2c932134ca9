#pragma once

#include <string_view>
#include <vector>

#include <rota/http/request_head.hpp>

#include "request_line.hpp"

namespace rota::http {

/// Reads the fields that decide about framing, routing and the connection, and fills in `head`.
/// Every way to say two things about where a message ends is refused (RFC 9112
/// sections 3.2, 6.1, 6.3 and 11.2).
[[nodiscard]] check_result apply_head_rules(request_head& head);

/// True for the line of a Content-Length beyond 64 bits: llhttp refuses it, but it is a length,
/// only a very large one.
[[nodiscard]] bool is_huge_content_length(std::string_view line);
/// The same of a chunk's size, whatever is behind it.
[[nodiscard]] bool is_huge_chunk_size(std::string_view line);

/// Trailer fields come after framing and routing have been decided (RFC 9110 section 6.5.1): those
/// that try to decide it again are refused, those that only make sense before the content are
/// dropped.
[[nodiscard]] check_result apply_trailer_rules(const char* base, std::vector<field_span>& fields);

} // namespace rota::http
