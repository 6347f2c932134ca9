#include <rota/json/writer.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace rota::json {
namespace {

/// What a text that does not begin with ASCII begins with: a well-formed UTF-8 sequence (RFC 3629
/// section 4), or as much of one as is there, at least a byte (the "maximal subpart" that Unicode
/// replaces by one U+FFFD).
struct sequence {
    std::size_t length;
    bool whole;
};

sequence first_sequence(std::string_view text) noexcept {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byte(0);
    if (lead < 0xc2 || lead > 0xf4)
        return {1, false};
    const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    // No overlong forms, no surrogates, nothing above U+10FFFF.
    unsigned low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    unsigned high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    for (std::size_t i = 1; i < length; ++i) {
        if (i == text.size() || byte(i) < low || byte(i) > high)
            return {i, false};
        low = 0x80;
        high = 0xbf;
    }
    return {length, true};
}

bool stands_for_itself(char c) noexcept { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; }

void append_escaped(std::string& out, char control) {
    constexpr std::string_view hex = "0123456789abcdef";
    switch (control) {
    case '\n':
        out += "\\n";
        break;
    case '\r':
        out += "\\r";
        break;
    case '\t':
        out += "\\t";
        break;
    default:
        out += "\\u00";
        out += hex[static_cast<unsigned char>(control) >> 4];
        out += hex[static_cast<unsigned char>(control) & 15];
    }
}

} // namespace

void append_quoted(std::string& out, std::string_view text) {
    out += '"';
    for (;;) {
        // Most of most texts stands for itself: as long as it does, all at once.
        const auto special = std::ranges::find_if_not(text, stands_for_itself);
        const auto plain = static_cast<std::size_t>(special - text.begin());
        out.append(text, 0, plain);
        text.remove_prefix(plain);
        if (text.empty())
            break;
        const char c = text.front();
        std::size_t used = 1;
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x80) {
            append_escaped(out, c);
        } else {
            const sequence first = first_sequence(text);
            out.append(first.whole ? text.substr(0, first.length) : "\xef\xbf\xbd");
            used = first.length;
        }
        text.remove_prefix(used);
    }
    out += '"';
}

std::string excerpt(std::string_view text, std::size_t bytes_max) {
    const bool cut = text.size() > bytes_max;
    if (cut) {
        text = text.substr(0, bytes_max);
        // Not within a character.
        while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0U) == 0x80U)
            text.remove_suffix(1);
        if (!text.empty() && static_cast<unsigned char>(text.back()) >= 0xc0U)
            text.remove_suffix(1);
    }
    std::string result;
    append_quoted(result, text);
    if (cut)
        result += "...";
    return result;
}

writer& writer::value(double number) {
    if (!std::isfinite(number))
        return null();
    char digits[32];
    const auto result = std::to_chars(digits, digits + sizeof digits, number);
    return raw({digits, result.ptr});
}

writer& writer::key(std::string_view name) {
    separate();
    append_quoted(out_, name);
    out_ += ':';
    comma_ = false;
    return *this;
}

writer& writer::value(std::string_view text) {
    separate();
    append_quoted(out_, text);
    comma_ = true;
    return *this;
}

writer& writer::raw(std::string_view json) {
    separate();
    out_ += json;
    comma_ = true;
    return *this;
}

writer& writer::begin(char bracket) {
    separate();
    out_ += bracket;
    comma_ = false;
    return *this;
}

writer& writer::end(char bracket) {
    out_ += bracket;
    comma_ = true;
    return *this;
}

void writer::separate() {
    if (comma_)
        out_ += ',';
}

} // namespace rota::json
