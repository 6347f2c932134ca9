#pragma once

// JSON out of structs, by what describe.hpp says of them.

#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include <rota/json/describe.hpp>
#include <rota/json/writer.hpp>

namespace rota::json {

template <class T>
void write(writer& out, const T& content);

namespace detail {

template <class T>
void write_member(writer& out, std::string_view name, const T& content) {
    if constexpr (is_optional<T>) {
        if (!content)
            return;
    }
    out.key(name);
    write(out, content);
}

template <class Enum>
void write_enum(writer& out, Enum content) {
    for (const auto& each : json_names(Enum{})) {
        if (each.value == content) {
            out.value(each.name);
            return;
        }
    }
    throw std::invalid_argument("a value of an enum that has no name");
}

template <class T>
void write_members(writer& out, const T& content) {
    out.begin_object();
    std::apply(
        [&](const auto&... each) { (write_member(out, each.name, content.*each.place), ...); },
        members_of<T>);
    out.end_object();
}

template <class T>
void write_list(writer& out, const T& content) {
    out.begin_array();
    for (const typename T::value_type& each : content)
        write(out, each);
    out.end_array();
}

template <class T>
void write_map(writer& out, const T& content) {
    out.begin_object();
    for (const auto& [name, each] : content) {
        out.key(name);
        write(out, each);
    }
    out.end_object();
}

} // namespace detail

/// Writes what read() of read.hpp reads. A std::optional without a value is left out where it is a
/// member, else null. Throws std::invalid_argument for a value of an enum without a name.
template <class T>
void write(writer& out, const T& content) {
    if constexpr (std::is_same_v<T, raw>) {
        out.raw(content.text);
    } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
        out.value(std::string_view(content));
    } else if constexpr (std::is_arithmetic_v<T>) {
        out.value(content);
    } else if constexpr (named_enum<T>) {
        detail::write_enum(out, content);
    } else if constexpr (detail::is_optional<T>) {
        if (content) {
            write(out, *content);
        } else {
            out.null();
        }
    } else if constexpr (described<T>) {
        detail::write_members(out, content);
    } else if constexpr (detail::is_map<T>) {
        detail::write_map(out, content);
    } else if constexpr (detail::is_list<T>) {
        detail::write_list(out, content);
    } else {
        static_assert(detail::never<T>, "say how it looks as JSON: json_members in the struct, "
                                        "json_names() beside the enum (rota/json/describe.hpp)");
    }
}

/// Returns the same as a text of its own.
template <class T>
[[nodiscard]] std::string to_text(const T& content) {
    std::string text;
    writer out(text);
    write(out, content);
    return text;
}

} // namespace rota::json
