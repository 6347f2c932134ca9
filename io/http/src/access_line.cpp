#include "access_line.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string_view>

#include <rota/detail/hex.hpp>
#include <rota/http/forwarded.hpp>
#include <rota/http/request.hpp>

namespace rota::http {
namespace {

constexpr std::string_view cut_off = "...";

// --- combined ---

/// A field of combined: nothing in it ends it. Spaces are escaped where no quotes are around it.
void append_plain(std::string& to, std::string_view text, std::size_t bytes_max, bool quoted) {
    if (text.empty()) {
        to += '-';
        return;
    }
    for (const char c : text.substr(0, bytes_max)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte >= 0x7f || (!quoted && c == ' '))
            rota::detail::append_hex(to.append("\\x"), byte);
        else if (c == '"' || c == '\\')
            to.append(1, '\\').append(1, c);
        else
            to += c;
    }
    if (text.size() > bytes_max)
        to += cut_off;
}

void append_quoted(std::string& to, std::string_view text, std::size_t bytes_max) {
    to += '"';
    append_plain(to, text, bytes_max, true);
    to += '"';
}

/// "[24/Nov/2026:17:00:00 +0000]". Of one second it is made once by each thread.
std::string_view combined_time(std::time_t now) {
    static thread_local std::time_t made_for = -1;
    static thread_local std::array<char, 32> made{};
    static thread_local std::size_t size = 0;
    if (made_for != now) {
        static constexpr std::array<const char*, 12> months{
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
        std::tm t{};
        ::gmtime_r(&now, &t);
        const int written =
            std::snprintf(made.data(), made.size(), "[%02d/%s/%04d:%02d:%02d:%02d +0000]",
                          t.tm_mday, months[static_cast<std::size_t>(t.tm_mon)], t.tm_year + 1900,
                          t.tm_hour, t.tm_min, t.tm_sec);
        size = static_cast<std::size_t>(written);
        made_for = now;
    }
    return {made.data(), size};
}

std::string_view field_of(const request* asked, std::string_view name) {
    if (asked == nullptr)
        return {};
    return asked->header(name).value_or(std::string_view());
}

void append_combined(std::string& to, const access_entry& entry, std::time_t now, std::size_t max) {
    append_plain(to, peer_address(entry.peer), max, false);
    to += " - ";
    append_plain(to, entry.asked != nullptr ? entry.asked->user() : "", max, false);
    to.append(1, ' ').append(combined_time(now)).append(" \"");
    if (entry.method.empty()) {
        to += '-';
    } else {
        append_plain(to, entry.method, max, false);
        to += ' ';
        append_plain(to, entry.target, max, true);
        to.append(1, ' ').append(entry.protocol == "HTTP/2" ? "HTTP/2.0" : entry.protocol);
    }
    to.append("\" ").append(std::to_string(entry.status));
    to.append(1, ' ').append(std::to_string(entry.bytes_sent)).append(1, ' ');
    append_quoted(to, field_of(entry.asked, "Referer"), max);
    to += ' ';
    append_quoted(to, field_of(entry.asked, "User-Agent"), max);
    to += '\n';
}

// --- JSON ---

/// How many bytes of a character of UTF-8 (RFC 3629) stand at the front; 0 if none does.
std::size_t utf8_size(std::string_view text) noexcept {
    const auto byte = [text](std::size_t i) {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
    };
    const auto follows = [&byte](std::size_t i) { return (byte(i) & 0xc0) == 0x80; };
    const unsigned first = byte(0);
    if (first >= 0xc2 && first < 0xe0)
        return follows(1) ? 2 : 0;
    if (first >= 0xe0 && first < 0xf0) {
        const bool too_long = first == 0xe0 && byte(1) < 0xa0;
        const bool surrogate = first == 0xed && byte(1) >= 0xa0;
        return follows(1) && follows(2) && !too_long && !surrogate ? 3 : 0;
    }
    if (first >= 0xf0 && first < 0xf5) {
        const bool too_long = first == 0xf0 && byte(1) < 0x90;
        const bool too_far = first == 0xf4 && byte(1) >= 0x90;
        return follows(1) && follows(2) && follows(3) && !too_long && !too_far ? 4 : 0;
    }
    return 0;
}

/// The code point of a character of two or three bytes; 0 of a longer one.
unsigned code_of(std::string_view character) noexcept {
    const auto bits = [character](std::size_t i, unsigned mask) {
        return static_cast<unsigned char>(character[i]) & mask;
    };
    if (character.size() == 2)
        return bits(0, 0x1f) << 6U | bits(1, 0x3f);
    if (character.size() == 3)
        return bits(0, 0x0f) << 12U | bits(1, 0x3f) << 6U | bits(2, 0x3f);
    return 0;
}

/// Whether it is more than a sign to what shows lines: a control character, an end of a line, a
/// mark that turns the direction of writing (UAX 9 section 2).
bool is_obeyed(unsigned code) noexcept {
    return (code >= 0x80 && code < 0xa0) || code == 0x61c || code == 0x200e || code == 0x200f ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

void append_character(std::string& to, std::string_view character) {
    const unsigned code = code_of(character);
    if (!is_obeyed(code)) {
        to += character;
        return;
    }
    rota::detail::append_hex(to.append("\\u"), static_cast<unsigned char>(code >> 8U));
    rota::detail::append_hex(to, static_cast<unsigned char>(code & 0xffU));
}

/// A text of JSON (RFC 8259). Bytes that are no UTF-8 are as the characters of Latin-1.
void append_text(std::string& to, std::string_view text, std::size_t bytes_max) {
    to += '"';
    const std::string_view all = text.substr(0, bytes_max);
    for (std::size_t i = 0; i < all.size();) {
        const auto byte = static_cast<unsigned char>(all[i]);
        if (byte >= 0x80) {
            const std::size_t size = utf8_size(text.substr(i));
            if (size > all.size() - i) // a character is not cut
                break;
            if (size > 0)
                append_character(to, all.substr(i, size));
            else
                rota::detail::append_hex(to.append("\\u00"), byte);
            i += size > 0 ? size : 1;
            continue;
        }
        if (byte < 0x20 || byte == 0x7f)
            rota::detail::append_hex(to.append("\\u00"), byte);
        else if (byte == '"' || byte == '\\')
            to.append(1, '\\').append(1, all[i]);
        else
            to += all[i];
        ++i;
    }
    if (text.size() > bytes_max)
        to += cut_off;
    to += '"';
}

class json_line {
public:
    json_line(std::string& to, std::size_t max) : to_(to), max_(max) { to_ += '{'; }

    /// Left out where there is none.
    void text(std::string_view name, std::string_view value) {
        if (value.empty())
            return;
        begin(name);
        append_text(to_, value, max_);
    }
    void number(std::string_view name, std::int64_t value) {
        begin(name);
        to_ += std::to_string(value);
    }
    /// Of this library's own: neither escaped nor cut.
    void plain(std::string_view name, std::string_view value) {
        begin(name);
        to_.append(1, '"').append(value).append(1, '"');
    }
    void end() { to_ += "}\n"; }

private:
    void begin(std::string_view name) {
        to_.append(first_ ? "\"" : ",\"").append(name).append("\":");
        first_ = false;
    }
    std::string& to_;
    const std::size_t max_;
    bool first_ = true;
};

std::string json_time(std::chrono::system_clock::time_point now) {
    const auto ms = std::chrono::floor<std::chrono::milliseconds>(now.time_since_epoch()).count();
    const std::time_t seconds = ms / 1000;
    std::tm t{};
    ::gmtime_r(&seconds, &t);
    std::array<char, 80> text{};
    std::snprintf(text.data(), text.size(), "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", t.tm_year + 1900,
                  t.tm_mon + 1, t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec,
                  static_cast<int>(ms % 1000));
    return text.data();
}

void append_request(json_line& line, const request& asked) {
    line.text("scheme", asked.secure() ? "https" : "http");
    line.text("host", asked.host());
    line.text("route", asked.route());
    line.text("user", asked.user());
    line.text("referer", field_of(&asked, "Referer"));
    line.text("user_agent", field_of(&asked, "User-Agent"));
    line.text("request_id", asked.id());
    if (const trace_context* const trace = asked.trace()) {
        line.text("trace_id", {trace->trace_id.data(), trace->trace_id.size()});
        line.text("span_id", {trace->span_id.data(), trace->span_id.size()});
    }
}

void append_json(std::string& to, const access_entry& entry,
                 std::chrono::system_clock::time_point now, std::size_t max) {
    json_line line(to, max);
    line.plain("time", json_time(now));
    line.text("peer", entry.peer);
    line.text("method", entry.method);
    line.text("target", entry.target);
    line.number("status", entry.status);
    line.number("bytes", static_cast<std::int64_t>(entry.bytes_sent));
    line.number("duration_us", entry.took.count());
    if (!entry.method.empty())
        line.text("protocol", entry.protocol);
    if (entry.asked != nullptr)
        append_request(line, *entry.asked);
    line.end();
}

} // namespace

void append_access_line(std::string& to, const access_entry& entry, access_log_format format,
                        std::chrono::system_clock::time_point now, std::size_t field_bytes_max) {
    if (format == access_log_format::json)
        append_json(to, entry, now, field_bytes_max);
    else
        append_combined(to, entry, std::chrono::system_clock::to_time_t(now), field_bytes_max);
}

} // namespace rota::http
