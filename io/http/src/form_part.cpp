#include <algorithm>
#include <cstdint>

#include <rota/http/error.hpp>
#include <rota/http/fields.hpp>
#include <rota/http/form.hpp>

#include "form_text.hpp"

namespace rota::http {
namespace {

struct head_field {
    std::string_view name;
    std::string_view value;
};

/// A line that begins with a space or a tab goes on with the one before (RFC 5322 section 2.2.3).
std::string unfolded(std::string_view head) {
    std::string lines;
    lines.reserve(head.size());
    while (!head.empty()) {
        const std::size_t end = std::min(head.find("\r\n"), head.size());
        lines += head.substr(0, end);
        head.remove_prefix(end);
        if (head.empty())
            break;
        const bool goes_on = head.size() > 2 && (head[2] == ' ' || head[2] == '\t');
        if (!goes_on)
            lines += "\r\n";
        head.remove_prefix(2);
    }
    return lines;
}

/// Of RFC 5322 section 3.6.8: more than a name of HTTP.
bool is_field_name(std::string_view text) noexcept {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

/// Of HTTP; of Content-Disposition, whose quotes may hold any character (RFC 7578 section 4.2), all
/// that is in a line: browsers send controls in names as they are.
bool is_field_value(std::string_view name, std::string_view value) noexcept {
    using namespace std::string_view_literals;
    return fields::iequals(name, "Content-Disposition")
               ? value.find_first_of("\0\r\n"sv) == std::string_view::npos
               : !fields::has_control(value);
}

/// Takes a field off the front of the lines.
head_field next_field(std::string_view& lines) {
    const std::size_t end = lines.find("\r\n");
    const std::string_view line = lines.substr(0, end);
    const std::size_t colon = line.find(':');
    if (end == std::string_view::npos || colon == std::string_view::npos ||
        !is_field_name(line.substr(0, colon)) ||
        !is_field_value(line.substr(0, colon), line.substr(colon + 1)))
        throw http_error(400, "a line in the head of a part is no field");
    lines.remove_prefix(end + 2);
    return {line.substr(0, colon), fields::trim(line.substr(colon + 1))};
}

/// The size of the comment that a text begins with (RFC 5322 section 3.2.2), 0 if it does not end,
/// or is too deep.
std::size_t comment_size(std::string_view text) noexcept {
    constexpr std::size_t depth_max = 16;
    std::size_t depth = 0;
    for (std::size_t i = 0; i < text.size() && depth <= depth_max; ++i) {
        if (text[i] == '(')
            ++depth;
        else if (text[i] == ')' && --depth == 0)
            return i + 1;
        else if (text[i] == '\\')
            ++i;
    }
    return 0;
}

enum class backslash : std::uint8_t {
    escape, ///< as MIME has it
    plain,  ///< as HTML has it, which writes a quote as "%22"
};

/// Whether the character at `at` is a backslash that escapes the next, in quotes. Before anything
/// but a quote or another one a backslash is one, as in the paths that browsers sent as the names
/// of files.
bool escapes(std::string_view text, std::size_t at, backslash as) noexcept {
    return as == backslash::escape && text[at] == '\\' && at + 1 < text.size() &&
           (text[at + 1] == '"' || text[at + 1] == '\\');
}

/// Has a blank for each comment (RFC 2045 section 5.1); there is none in quotes.
std::string without_comments(std::string_view text, backslash as = backslash::escape) {
    std::string kept;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const std::size_t size = !quoted && text[i] == '(' ? comment_size(text.substr(i)) : 0;
        if (size != 0) {
            kept += ' ';
            i += size - 1;
            continue;
        }
        if (quoted && escapes(text, i, as))
            kept += text[i++];
        else if (text[i] == '"')
            quoted = !quoted;
        kept += text[i];
    }
    return kept;
}

[[noreturn]] void fail_disposition() {
    throw http_error(400, "a Content-Disposition that is malformed");
}

void skip_blanks(std::string_view& text) noexcept {
    while (text.starts_with(' ') || text.starts_with('\t'))
        text.remove_prefix(1);
}

/// Of RFC 2045 section 5.1: HTTP's have no braces.
std::string_view take_token(std::string_view& text) {
    std::size_t size = 0;
    while (size < text.size() &&
           (fields::is_token_char(text[size]) || text[size] == '{' || text[size] == '}'))
        ++size;
    if (size == 0)
        fail_disposition();
    const std::string_view token = text.substr(0, size);
    text.remove_prefix(size);
    return token;
}

std::string take_value(std::string_view& text, backslash as) {
    if (!text.starts_with('"'))
        return std::string(take_token(text));
    std::string value;
    for (std::size_t i = 1; i < text.size(); ++i) {
        if (text[i] == '"') {
            text.remove_prefix(i + 1);
            return value;
        }
        if (escapes(text, i, as))
            ++i;
        value += text[i];
    }
    fail_disposition();
}

struct disposition {
    std::optional<std::string> name;
    std::optional<std::string> filename;
};

disposition parse_disposition(std::string_view field, backslash as) {
    const std::string uncommented = without_comments(field, as);
    std::string_view text = uncommented;
    disposition found;
    skip_blanks(text);
    if (!fields::iequals(take_token(text), "form-data"))
        throw http_error(400, "a part whose Content-Disposition is not form-data");
    for (skip_blanks(text); !text.empty(); skip_blanks(text)) {
        if (!text.starts_with(';'))
            fail_disposition();
        text.remove_prefix(1);
        skip_blanks(text);
        if (text.empty() || text.starts_with(';'))
            continue;
        const std::string_view parameter = take_token(text);
        skip_blanks(text);
        if (!text.starts_with('='))
            fail_disposition();
        text.remove_prefix(1);
        skip_blanks(text);
        std::string value = take_value(text, as);
        const bool is_name = fields::iequals(parameter, "name");
        if (!is_name && !fields::iequals(parameter, "filename"))
            continue; // "filename*" is not for forms: RFC 7578 section 4.2
        std::optional<std::string>& place = is_name ? found.name : found.filename;
        if (place)
            fail_disposition();
        place = std::move(value);
    }
    return found;
}

/// What is malformed with escapes may be HTML's: name="a\" is whole there.
disposition parse_disposition(std::string_view field) {
    try {
        return parse_disposition(field, backslash::escape);
    } catch (const http_error&) {
        return parse_disposition(field, backslash::plain);
    }
}

} // namespace

form_part form_part::parse(std::string_view head, bool percent_filenames) {
    const std::string unfolded_head = unfolded(head);
    std::string_view lines = unfolded_head;
    std::optional<disposition> found;
    std::optional<std::string> type;
    while (!lines.empty()) {
        const head_field field = next_field(lines);
        if (fields::iequals(field.name, "Content-Disposition")) {
            if (found)
                throw http_error(400, "a part with two Content-Dispositions");
            found = parse_disposition(field.value);
        } else if (fields::iequals(field.name, "Content-Type")) {
            if (type)
                throw http_error(400, "a part with two Content-Types");
            type = fields::trim(without_comments(field.value));
        }
    }
    if (!found)
        throw http_error(400, "a part without a Content-Disposition");
    if (!found->name)
        throw http_error(400, "a part without a name");
    form_part part;
    part.name = html_unescaped(*found->name);
    if (found->filename) {
        part.filename = percent_filenames ? percent_unescaped(*found->filename)
                                          : html_unescaped(*found->filename);
        if (part.filename->contains('\0')) // as it would be unescaped: it ends a name elsewhere
            throw http_error(400, "the name of a file with a NUL in it");
    }
    if (type && !type->empty())
        part.type = std::move(*type);
    return part;
}

} // namespace rota::http
