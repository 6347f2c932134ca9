#include "wire_fields.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>

#include <rota/http/date.hpp>
#include <rota/http/fields.hpp>
#include <rota/http/status.hpp>

namespace rota::http::h2 {
namespace {

/// Of what takes a connection over: the part that HTTP/2 does by itself.
bool is_handshake(std::string_view name) noexcept {
    return fields::iequals(name, "upgrade") || fields::iequals(name, "sec-websocket-accept");
}

bool is_of_connection(std::string_view name) noexcept {
    static constexpr std::array<std::string_view, 6> names{
        "connection", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade"};
    return std::any_of(names.begin(), names.end(),
                       [name](std::string_view other) { return fields::iequals(name, other); });
}

} // namespace

void wire_fields::add(std::string_view name, std::string_view value) {
    // nghttp2 takes them as if it might write there.
    const auto* const n = reinterpret_cast<const std::uint8_t*>(name.data());
    const auto* const v = reinterpret_cast<const std::uint8_t*>(value.data());
    into_.push_back({const_cast<std::uint8_t*>(n), const_cast<std::uint8_t*>(v), name.size(),
                     value.size(), NGHTTP2_NV_FLAG_NONE});
}

void wire_fields::add_status(int status) {
    std::to_chars(status_.data(), status_.data() + status_.size(), status);
    add(":status", {status_.data(), status_.size()});
}

void wire_fields::add_lines(std::string_view lines) {
    while (!lines.empty()) {
        const std::size_t end = lines.find("\r\n");
        const std::string_view line = lines.substr(0, end);
        lines.remove_prefix(end + 2);
        const std::size_t colon = line.find(':');
        const std::string_view name = line.substr(0, colon);
        if (!is_of_connection(name))
            add(name, line.substr(colon + 2));
    }
}

void wire_fields::add_head(const response& answer) {
    add_status(answer.takes_over() ? 200 : answer.status());
    if (!answer.headers().has_date())
        add_lines(date_line());
    if (answer.takes_over()) {
        std::string_view lines = answer.headers().wire();
        while (!lines.empty()) {
            const std::size_t size = lines.find("\r\n") + 2;
            if (!is_handshake(lines.substr(0, lines.find(':'))))
                add_lines(lines.substr(0, size));
            lines.remove_prefix(size);
        }
        return;
    }
    add_lines(answer.headers().wire());
    if (status_has_no_content(answer.status()))
        return;
    // 205 has no content, and says so (RFC 9110 section 15.3.6).
    const auto length = answer.status() == 205 ? std::optional<std::uint64_t>(0) : answer.length();
    if (!length)
        return;
    const auto [end, error] =
        std::to_chars(length_.data(), length_.data() + length_.size(), *length);
    static_cast<void>(error);
    add("content-length", {length_.data(), static_cast<std::size_t>(end - length_.data())});
}

} // namespace rota::http::h2
