#pragma once

#include <string>

namespace rota::detail {

/// `text` for a line of a log, where it must not begin another one: it may come from a client.
/// Control characters become `\x0a`; the rest, UTF-8 too, stays. Throws std::bad_alloc.
[[nodiscard]] std::string one_line(std::string text);

} // namespace rota::detail
