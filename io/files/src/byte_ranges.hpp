#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <rota/http/range.hpp>
#include <rota/http/response.hpp>
#include <rota/io/shared_file.hpp>

namespace rota::http {

/// A 206 with several parts of `whole` (multipart/byteranges, RFC 9110 section 14.6), each of which
/// says what it is of, and that it is of `type`.
[[nodiscard]] response byte_ranges_answer(io::file_slice whole, std::string_view type,
                                          const std::vector<byte_range>& parts);

} // namespace rota::http
