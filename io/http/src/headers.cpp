#include <rota/http/headers.hpp>

#include <algorithm>
#include <cstring>
#include <span>
#include <stdexcept>

#include <rota/http/fields.hpp>

namespace rota::http {
namespace {

using fields::iequals;

bool is_one_of(std::string_view name, std::span<const std::string_view> names) noexcept {
    return std::ranges::any_of(names, [name](auto other) { return iequals(name, other); });
}

/// Whether it is no list: there may be one of it in an answer.
bool has_one_value(std::string_view name) noexcept {
    static constexpr std::array<std::string_view, 11> names{
        "age",     "content-location", "content-range", "content-type", "date",  "etag",
        "expires", "last-modified",    "location",      "retry-after",  "server"};
    return is_one_of(name, names);
}

/// Whether it says something only in a request, or nothing anywhere.
bool is_left_out(std::string_view name) noexcept {
    static constexpr std::array<std::string_view, 2> names{"proxy-connection", "te"};
    return is_one_of(name, names);
}

/// Throws if a field of this name and value must not go out.
void check_field(std::string_view name, std::string_view value) {
    if (!fields::is_token(name)) {
        throw std::invalid_argument("the name of a header field is not a token");
    }
    if (fields::has_control(value)) {
        throw std::invalid_argument("a control character in the value of header field " +
                                    std::string(name));
    }
    static constexpr std::array<std::string_view, 4> reserved{"content-length", "transfer-encoding",
                                                              "connection", "keep-alive"};
    if (is_one_of(name, reserved))
        throw std::invalid_argument("header field " + std::string(name) + " is set by the server");
}

} // namespace

void headers::append_trusted(std::string_view lines) {
    if (char* const at = room_inline(lines.size())) {
        std::memcpy(at, lines.data(), lines.size());
        return;
    }
    if (inline_size_ > 0) {
        overflow_.assign(inline_.data(), inline_size_);
        inline_size_ = 0;
    }
    overflow_.append(lines);
}

void headers::append_trusted_type(std::string_view type) {
    static constexpr std::string_view name = "Content-Type: ";
    char* const at = room_inline(name.size() + type.size() + 2);
    if (at == nullptr) {
        append_trusted(std::string(name).append(type).append("\r\n"));
        return;
    }
    std::memcpy(at, name.data(), name.size());
    std::memcpy(at + name.size(), type.data(), type.size());
    std::memcpy(at + name.size() + type.size(), "\r\n", 2);
}

void headers::append_checked(std::string_view name, std::string_view value) {
    char* const at = room_inline(name.size() + value.size() + 4);
    if (at == nullptr) {
        std::string line;
        line.reserve(name.size() + value.size() + 4);
        append_trusted(line.append(name).append(": ").append(value).append("\r\n"));
    } else {
        std::memcpy(at, name.data(), name.size());
        std::memcpy(at + name.size(), ": ", 2);
        std::char_traits<char>::copy(at + name.size() + 2, value.data(),
                                     value.size()); // may be null
        std::memcpy(at + name.size() + 2 + value.size(), "\r\n", 2);
    }
    note(name, true);
}

/// Keeps in mind whether there are fields that the server asks for with each answer.
void headers::note(std::string_view name, bool there) noexcept {
    if (iequals(name, "date"))
        has_date_ = there;
    else if (iequals(name, "upgrade"))
        has_upgrade_ = there;
}

void headers::add(std::string_view name, std::string_view value) {
    value = fields::trim(value);
    check_field(name, value);
    if (has_one_value(name))
        put_checked(name, value);
    else if (!is_left_out(name))
        append_checked(name, value);
}

void headers::set(std::string_view name, std::string_view value) {
    value = fields::trim(value);
    check_field(name, value); // nothing changes if it throws
    if (!is_left_out(name))
        put_checked(name, value);
}

void headers::put_checked(std::string_view name, std::string_view value) {
    if (!locate(name)) {
        append_checked(name, value);
        return;
    }
    // The arguments may be views into this object.
    const std::string kept_name(name);
    const std::string kept_value(value);
    while (remove(kept_name)) {
    }
    append_checked(kept_name, kept_value);
}

bool headers::remove(std::string_view name) {
    const auto found = locate(name);
    if (!found)
        return false;
    note(name, false);
    std::string rest(wire().substr(0, found->start));
    rest.append(wire().substr(found->end));
    inline_size_ = 0;
    overflow_.clear();
    append_trusted(rest);
    return true;
}

std::optional<std::string_view> headers::find(std::string_view name) const noexcept {
    const auto found = locate(name);
    if (!found)
        return std::nullopt;
    return found->value;
}

std::optional<headers::position> headers::locate(std::string_view name) const noexcept {
    const std::string_view all = wire();
    std::size_t start = 0;
    while (start < all.size()) {
        const std::size_t end = all.find('\n', start) + 1; // no value has one
        const std::string_view line = all.substr(start, end - start - 2);
        const std::size_t colon = name.size();
        if (line.size() > colon && line[colon] == ':' && iequals(line.substr(0, colon), name))
            return position{start, end, line.substr(colon + 2)};
        start = end;
    }
    return std::nullopt;
}

} // namespace rota::http
