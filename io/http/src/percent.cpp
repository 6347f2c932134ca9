#include "percent.hpp"

#include <cstddef>

#include "syntax.hpp"

namespace rota::http {
namespace {

/// The byte that the escape at `at` stands for, or -1 if it is none.
int escape_at(std::string_view text, std::size_t at) noexcept {
    if (at + 2 >= text.size())
        return -1;
    const int high = syntax::hex_value(text[at + 1]);
    const int low = syntax::hex_value(text[at + 2]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

} // namespace

bool valid_escapes(std::string_view text) noexcept {
    for (std::size_t at = text.find('%'); at != std::string_view::npos;
         at = text.find('%', at + 3)) {
        if (escape_at(text, at) <= 0)
            return false;
    }
    return true;
}

void decode_path(std::string_view path, std::string& out) {
    out.clear();
    for (std::size_t i = 0; i < path.size(); ++i) {
        if (path[i] != '%') {
            out.push_back(path[i]);
            continue;
        }
        const auto byte = static_cast<char>(escape_at(path, i));
        out.push_back(byte == '/' ? encoded_slash : byte);
        i += 2;
    }
}

std::string decode_form(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '+') {
            out.push_back(' ');
            continue;
        }
        const int byte = text[i] == '%' ? escape_at(text, i) : -1;
        if (byte < 0) {
            out.push_back(text[i]);
        } else {
            out.push_back(static_cast<char>(byte));
            i += 2;
        }
    }
    return out;
}

} // namespace rota::http
