#pragma once

#include <string>
#include <string_view>

namespace rota::detail {

/// Returns `text` for a line of a log, where it must not begin another one: it may come from a
/// client. Control characters become `\x0a`; the rest, UTF-8 too, stays. Throws std::bad_alloc.
[[nodiscard]] std::string one_line(std::string text);
/// Returns whether it stays as it is.
[[nodiscard]] bool is_one_line(std::string_view text) noexcept;

} // namespace rota::detail
