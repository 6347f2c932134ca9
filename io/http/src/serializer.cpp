#include "serializer.hpp"

#include <array>
#include <charconv>
#include <vector>

#include <rota/http/status.hpp>

#include "date.hpp"

namespace rota::http {
namespace {

constexpr int first_status = 200;
constexpr int last_status = 599;

/// The status lines of every status that a response can have.
std::vector<std::string> make_status_lines() {
    std::vector<std::string> lines;
    lines.reserve(last_status - first_status + 1);
    for (int status = first_status; status <= last_status; ++status) {
        std::string line = "HTTP/1.1 " + std::to_string(status) + ' ';
        line.append(reason_phrase(status)).append("\r\n");
        lines.push_back(std::move(line));
    }
    return lines;
}

std::string_view status_line(int status) {
    static const std::vector<std::string> lines = make_status_lines();
    return lines[static_cast<std::size_t>(status - first_status)];
}

void append_number(std::string& out, std::uint64_t value, int base) {
    std::array<char, 20> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, base).ptr;
    out.append(digits.data(), end);
}

/// 205 has no content either, but says so with a length (RFC 9110 section 15.3.6).
std::uint64_t length_to_announce(const response& answer) noexcept {
    return answer.status() == 205 ? 0 : answer.length().value_or(0);
}

} // namespace

content_framing choose_framing(const response& answer, const exchange& with) noexcept {
    if (status_has_no_content(answer.status()))
        return content_framing::none;
    if (answer.length() || answer.status() == 205)
        return content_framing::sized;
    return with.minor >= 1 ? content_framing::chunked : content_framing::until_close;
}

bool sends_content(const response& answer, const exchange& with, content_framing framing) noexcept {
    return !with.head_only && framing != content_framing::none && answer.status() != 205;
}

void append_head(std::string& out, const response& answer, const exchange& with,
                 content_framing framing) {
    out.append(status_line(answer.status()));
    if (!answer.headers().has_date())
        out.append(date_line());
    out.append(answer.headers().wire());
    if (framing == content_framing::sized) {
        out.append("Content-Length: ");
        append_number(out, length_to_announce(answer), 10);
        out.append("\r\n");
    } else if (framing == content_framing::chunked) {
        out.append("Transfer-Encoding: chunked\r\n");
    }
    const bool goes_on = with.keep_alive && framing != content_framing::until_close;
    if (!goes_on) {
        out.append("Connection: close\r\n");
    } else if (with.minor == 0) {
        out.append("Connection: keep-alive\r\n");
    }
    out.append("\r\n");
}

void append_chunk_size(std::string& out, std::size_t size) {
    append_number(out, size, 16);
    out.append("\r\n");
}

void append_last_chunk(std::string& out, const headers& trailers) {
    out.append("0\r\n");
    out.append(trailers.wire());
    out.append("\r\n");
}

} // namespace rota::http
