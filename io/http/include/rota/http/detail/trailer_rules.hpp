#pragma once

#include <string_view>

namespace rota::http {

/// Returns whether a field may follow the content, by its name in any case: not what frames it,
/// says where it goes, or has to be known before it (RFC 9110 section 6.5.1), and no field of the
/// connection.
[[nodiscard]] bool may_be_trailer(std::string_view name) noexcept;

} // namespace rota::http
