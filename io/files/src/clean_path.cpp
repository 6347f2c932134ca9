#include "clean_path.hpp"

#include <algorithm>

namespace rota::http {
namespace {

bool is_clean_segment(std::string_view segment, bool dotfiles) noexcept {
    if (segment.empty() || segment == "." || segment == "..")
        return false;
    return dotfiles || segment.front() != '.';
}

bool is_refused(char c) noexcept { return static_cast<unsigned char>(c) < 0x20 || c == '\\'; }

} // namespace

bool is_clean_path(std::string_view path, bool dotfiles) noexcept {
    if (std::ranges::any_of(path, is_refused))
        return false;
    while (!path.empty()) {
        const std::size_t slash = path.find('/');
        if (!is_clean_segment(path.substr(0, slash), dotfiles))
            return false;
        path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
    }
    return true;
}

} // namespace rota::http
