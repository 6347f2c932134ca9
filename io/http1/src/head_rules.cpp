#include "head_rules.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>

#include <rota/http/detail/expect.hpp>
#include <rota/http/detail/syntax.hpp>
#include <rota/http/detail/trailer_rules.hpp>
#include <rota/http/fields.hpp>

namespace rota::http {
namespace {

using fields::iequals;

/// What the fields said, before it is known whether they agree.
struct findings {
    int hosts = 0;
    int lengths = 0;
    bool transfer_encoding = false;
    bool chunked = false;
    bool unknown_coding = false;
    bool close = false;
    bool keep_alive = false;
};

check_result read_host(text_span value, request_head& head, findings& found) {
    if (++found.hosts > 1)
        return parse_error{400, "more than one Host"};
    if (!valid_host(head.text(value)))
        return parse_error{400, "malformed Host"};
    // RFC 9112 section 3.2.2: the authority of an absolute target wins over the field.
    if (head.host.size == 0)
        head.host = value;
    return std::nullopt;
}

check_result read_content_length(std::string_view value, request_head& head, findings& found) {
    if (++found.lengths > 1)
        return parse_error{400, "more than one Content-Length"};
    if (value.empty() || !std::all_of(value.begin(), value.end(), syntax::is_digit)) {
        return parse_error{400, "malformed Content-Length"};
    }
    const auto [end, error] =
        std::from_chars(value.data(), value.data() + value.size(), head.content_length);
    if (error != std::errc{})
        return parse_error{413, "content too large"};
    head.has_content_length = true;
    return std::nullopt;
}

/// Whether a quoted string in it has no end.
bool ends_in_quotes(std::string_view text) noexcept {
    bool in_quotes = false;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] == '"')
            in_quotes = !in_quotes;
        else if (in_quotes && text[at] == '\\')
            ++at;
    }
    return in_quotes;
}

check_result read_transfer_encoding(std::string_view value, findings& found) {
    constexpr parse_error malformed{400, "malformed Transfer-Encoding"};
    found.transfer_encoding = true;
    while (!value.empty()) {
        const std::string_view coding = fields::next_part(value, ',');
        if (coding.empty())
            continue; // RFC 9110 section 5.6.1.2
        if (ends_in_quotes(coding))
            return malformed;
        // Parameters follow the name behind a ';'; no coding that is known here has any.
        const std::string_view name = fields::trim(coding.substr(0, coding.find(';')));
        if (!fields::is_token(name))
            return malformed;
        if (found.chunked)
            return parse_error{400, "chunked is not the last transfer coding"};
        if (iequals(coding, "chunked")) {
            found.chunked = true;
        } else if (iequals(name, "chunked")) {
            return malformed;
        } else {
            found.unknown_coding = true;
        }
    }
    return std::nullopt;
}

void read_connection(std::string_view value, findings& found) {
    while (!value.empty()) {
        const std::string_view option = fields::next_list_item(value);
        if (iequals(option, "close")) {
            found.close = true;
        } else if (iequals(option, "keep-alive")) {
            found.keep_alive = true;
        }
    }
}

/// One look at the length of a name tells nearly every other field apart.
check_result read_field(const field_span& field, request_head& head, findings& found) {
    const std::string_view name = head.text(field.name);
    switch (name.size()) {
    case 4:
        if (iequals(name, "host"))
            return read_host(field.value, head, found);
        break;
    case 6:
        if (iequals(name, "expect") && !read_expect(head.text(field.value), head.expects_continue))
            head.unfit = std::max<std::uint16_t>(head.unfit, 417);
        break;
    case 10:
        if (iequals(name, "connection"))
            read_connection(head.text(field.value), found);
        break;
    case 14:
        if (iequals(name, "content-length")) {
            return read_content_length(head.text(field.value), head, found);
        }
        break;
    case 17:
        if (iequals(name, "transfer-encoding")) {
            return read_transfer_encoding(head.text(field.value), found);
        }
        break;
    default:
        break;
    }
    return std::nullopt;
}

bool is_one_of(std::string_view name, const auto& names) noexcept {
    return std::any_of(names.begin(), names.end(),
                       [name](std::string_view other) { return iequals(name, other); });
}

} // namespace

check_result apply_head_rules(request_head& head) {
    findings found;
    for (const field_span& field : head.fields) {
        if (auto wrong = read_field(field, head, found))
            return wrong;
    }
    if (found.hosts == 0 && head.minor >= 1)
        return parse_error{400, "Host is missing"};
    if (found.transfer_encoding) {
        if (found.lengths > 0) {
            return parse_error{400, "both Content-Length and Transfer-Encoding"};
        }
        if (head.minor == 0)
            return parse_error{400, "Transfer-Encoding in HTTP/1.0"};
        // RFC 9112 section 6.3: without chunked at its end nobody knows where the content ends.
        if (!found.chunked)
            return parse_error{400, "chunked is not the last transfer coding"};
        if (found.unknown_coding)
            return parse_error{501, "unknown transfer coding"};
    }
    head.chunked = found.chunked;
    // RFC 9110 section 9.3.6: it has none, and what follows is another protocol's.
    if (head.form == target_form::authority && head.has_body())
        return parse_error{400, "content in CONNECT"};
    head.keep_alive = !found.close && (head.minor >= 1 || found.keep_alive);
    // RFC 9110 section 10.1.1: ignored in HTTP/1.0, and nothing to wait for without content, so
    // that a 101 comes without a 100.
    if (head.minor == 0 || !head.has_body())
        head.expects_continue = false;
    return std::nullopt;
}

bool is_huge_content_length(std::string_view line) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos)
        return false;
    if (!fields::iequals(line.substr(0, colon), "content-length"))
        return false;
    const std::string_view digits = fields::trim(line.substr(colon + 1));
    if (!std::all_of(digits.begin(), digits.end(), syntax::is_digit))
        return false;
    std::uint64_t value = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return parsed.ec == std::errc::result_out_of_range;
}

bool is_huge_chunk_size(std::string_view line) {
    std::uint64_t value = 0;
    const auto parsed = std::from_chars(line.data(), line.data() + line.size(), value, 16);
    return parsed.ec == std::errc::result_out_of_range;
}

check_result apply_trailer_rules(const char* base, std::vector<field_span>& fields) {
    static constexpr std::array<std::string_view, 3> refused{"content-length", "transfer-encoding",
                                                             "host"};
    for (const field_span& field : fields) {
        const std::string_view name{base + field.name.offset, field.name.size};
        if (is_one_of(name, refused))
            return parse_error{400, "a framing field in the trailers"};
    }
    std::erase_if(fields, [base](const field_span& field) {
        return !may_be_trailer({base + field.name.offset, field.name.size});
    });
    return std::nullopt;
}

} // namespace rota::http
