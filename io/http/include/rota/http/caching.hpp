#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <rota/http/handler.hpp>
#include <rota/http/router.hpp>

namespace rota::http {

/// Gives answers to GET and HEAD a strong ETag made of their content (RFC 9110 section 8.8.3), and
/// evaluates the preconditions of requests by it (section 13): 304 without the content, or 412, by
/// `page` if it is set. For answers 200 that are whole and have 1 to `bytes_max` bytes, unless they
/// have a tag. It saves the transfer, not the work of the handler. Use it within coding(): where
/// there is a Content-Encoding the tag is weak, since the same may be coded to other bytes another
/// time.
[[nodiscard]] middleware etag(std::size_t bytes_max = 65'536, error_page page = {});

/// Sets how long answers may be kept, where they do not say so themselves: those below 400, or,
/// with `errors`, all. Throws std::invalid_argument for what no field can hold.
[[nodiscard]] middleware cache_control(std::string value, bool errors = false);

/// Returns the tag that etag() gives a content: 128 bits, the same on every machine, in quotes. Not
/// collision-resistant against an attacker.
[[nodiscard]] std::string content_tag(std::string_view content);

} // namespace rota::http
