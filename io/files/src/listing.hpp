#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace rota::http {

/// A page with links to what is in a directory, which `fd` (O_RDONLY) is taken over for; sorted,
/// directories with a slash, at most 10,000 names. `shown` is the path that stands above it.
/// `follow` opens (O_PATH) what a symbolic link there leads to: a descriptor, or a negative number
/// if that is not to be had. Blocks. Throws std::system_error.
[[nodiscard]] std::string make_listing(int fd, std::string_view shown, bool dotfiles,
                                       const std::function<int(const std::string& name)>& follow);

} // namespace rota::http
