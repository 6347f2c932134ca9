#pragma once

#include <optional>
#include <string_view>

namespace rota::http {

/// Whether `path`, which has been percent-decoded, is one of a file or a directory below a root:
/// "", "a", "a/b", "a/b/". No empty segment, no "." or "..", no backslash, no control character,
/// and without `dotfiles` none that begins with a dot.
[[nodiscard]] bool is_clean_path(std::string_view path, bool dotfiles) noexcept;

} // namespace rota::http
