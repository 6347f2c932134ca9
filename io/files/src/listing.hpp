#pragma once

#include <string>
#include <string_view>

namespace rota::http {

/// A page with links to what is in a directory, which `fd` (O_RDONLY) is taken over for; sorted,
/// directories with a slash, at most 10,000 names. `shown` is the path that stands above it.
/// Blocks. Throws std::system_error.
[[nodiscard]] std::string make_listing(int fd, std::string_view shown, bool dotfiles);

} // namespace rota::http
