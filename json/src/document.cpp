#include <rota/json/document.hpp>

#include <algorithm>
#include <charconv>
#include <new>
#include <utility>
#include <vector>

#include <rota/json/writer.hpp>
#include <yyjson.h>

namespace rota::json {
namespace {

/// How deep arrays and objects are nested, as far as brackets outside of strings tell: exact for
/// what is JSON.
std::size_t depth_of(std::string_view text) noexcept {
    std::size_t depth = 0;
    std::size_t deepest = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_string) {
            if (c == '\\') {
                ++i;
            } else if (c == '"') {
                in_string = false;
            }
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            deepest = std::max(deepest, ++depth);
        } else if ((c == ']' || c == '}') && depth > 0) {
            --depth;
        }
    }
    return deepest;
}

std::string_view text_of(yyjson_val* node) noexcept {
    return {unsafe_yyjson_get_str(node), unsafe_yyjson_get_len(node)};
}

} // namespace

std::string_view to_string(kind k) noexcept {
    switch (k) {
    case kind::null:
        return "null";
    case kind::boolean:
        return "a boolean";
    case kind::number:
        return "a number";
    case kind::string:
        return "a string";
    case kind::array:
        return "an array";
    case kind::object:
        return "an object";
    }
    return "unknown";
}

kind value::kind() const noexcept {
    switch (yyjson_get_type(node_)) {
    case YYJSON_TYPE_BOOL:
        return json::kind::boolean;
    case YYJSON_TYPE_RAW: // numbers are read as they are written
    case YYJSON_TYPE_NUM:
        return json::kind::number;
    case YYJSON_TYPE_STR:
        return json::kind::string;
    case YYJSON_TYPE_ARR:
        return json::kind::array;
    case YYJSON_TYPE_OBJ:
        return json::kind::object;
    default:
        return json::kind::null;
    }
}

std::string_view value::string() const noexcept {
    return is(json::kind::string) ? text_of(node_) : std::string_view{};
}

std::optional<std::int64_t> value::integer() const noexcept {
    if (!is(json::kind::number))
        return std::nullopt;
    const std::string_view text = text_of(node_);
    std::int64_t result = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
    if (error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return result;
}

std::string_view value::number_text() const noexcept {
    return is(json::kind::number) ? text_of(node_) : std::string_view{};
}

std::optional<bool> value::boolean() const noexcept {
    return is(json::kind::boolean) ? std::optional(yyjson_get_bool(node_)) : std::nullopt;
}

std::optional<value> value::member(std::string_view name) const noexcept {
    yyjson_val* found = yyjson_obj_getn(node_, name.data(), name.size());
    return found == nullptr ? std::nullopt : std::optional(value(found));
}

std::size_t value::size() const noexcept {
    return is(json::kind::array) || is(json::kind::object) ? unsafe_yyjson_get_len(node_) : 0;
}

yyjson_val* value::first() const noexcept {
    return size() > 0 ? unsafe_yyjson_get_first(node_) : nullptr;
}

yyjson_val* value::after(yyjson_val* node) noexcept { return unsafe_yyjson_get_next(node); }

yyjson_val* value::of_name(yyjson_val* name) noexcept { return yyjson_obj_iter_get_val(name); }

void value::append(std::string& out, bool sorted) const {
    switch (kind()) {
    case json::kind::null:
        out += "null";
        break;
    case json::kind::boolean:
        out += yyjson_get_bool(node_) ? "true" : "false";
        break;
    case json::kind::number:
        out += text_of(node_);
        break;
    case json::kind::string:
        append_quoted(out, text_of(node_));
        break;
    case json::kind::object:
        append_members(out, sorted);
        break;
    case json::kind::array: {
        char before = '[';
        each_element([&](value element) {
            out += std::exchange(before, ',');
            element.append(out, sorted);
        });
        out += before == '[' ? "[]" : "]";
        break;
    }
    }
}

void value::append_members(std::string& out, bool sorted) const {
    std::vector<std::pair<std::string_view, yyjson_val*>> members;
    members.reserve(size());
    each_member([&](std::string_view name, value v) { members.emplace_back(name, v.node_); });
    if (sorted)
        std::ranges::sort(members); // equal names stay in order: nodes lie as in the text
    char before = '{';
    for (const auto& [name, node] : members) {
        out += std::exchange(before, ',');
        append_quoted(out, name);
        out += ':';
        value(node).append(out, sorted);
    }
    out += before == '{' ? "{}" : "}";
}

document document::parse(std::string_view text, const limits& most) {
    if (text.size() > most.bytes_max)
        throw parse_error("it has more than " + std::to_string(most.bytes_max) + " bytes");
    if (depth_of(text) > most.depth_max) {
        throw parse_error("values are nested more than " + std::to_string(most.depth_max) +
                          " deep");
    }
    yyjson_read_err error{};
    // Without the in-situ flag the text is only read.
    yyjson_doc* doc = yyjson_read_opts(const_cast<char*>(text.data()), text.size(),
                                       YYJSON_READ_NUMBER_AS_RAW, nullptr, &error);
    if (doc != nullptr)
        return document(doc);
    if (error.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
        throw std::bad_alloc();
    if (text.empty())
        throw parse_error("there is nothing");
    throw parse_error(std::string(error.msg) + " at byte " + std::to_string(error.pos));
}

value document::root() const noexcept { return value(yyjson_doc_get_root(doc_.get())); }

void document::release::operator()(yyjson_doc* doc) const noexcept { yyjson_doc_free(doc); }

} // namespace rota::json
