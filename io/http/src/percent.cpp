#include <rota/http/percent.hpp>

#include <cstddef>

#include <rota/http/detail/syntax.hpp>

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

/// Appends one byte, as an escape unless it stands for itself.
void append_encoded(std::string& out, char byte, std::string_view also) {
    constexpr std::string_view hex = "0123456789ABCDEF";
    const bool letter = (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z');
    if (letter || syntax::is_digit(byte) ||
        std::string_view("-._~").find(byte) != std::string_view::npos ||
        also.find(byte) != std::string_view::npos) {
        out += byte;
        return;
    }
    const auto value = static_cast<unsigned char>(byte);
    out += '%';
    out += hex[value >> 4];
    out += hex[value & 15];
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

bool has_escaped_nul(std::string_view text) noexcept {
    return text.find("%00") != std::string_view::npos;
}

std::optional<std::string> percent_decoded(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out.push_back(text[i]);
            continue;
        }
        const int byte = escape_at(text, i);
        if (byte < 0)
            return std::nullopt;
        out.push_back(static_cast<char>(byte));
        i += 2;
    }
    return out;
}

std::string percent_encoded(std::string_view bytes, std::string_view also) {
    std::string out;
    out.reserve(bytes.size());
    for (const char byte : bytes)
        append_encoded(out, byte, also);
    return out;
}

std::string encode_form(std::string_view bytes) {
    std::string out;
    out.reserve(bytes.size());
    for (const char byte : bytes) {
        if (byte == ' ') {
            out += '+';
        } else {
            append_encoded(out, byte, {});
        }
    }
    return out;
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
