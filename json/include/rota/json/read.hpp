#pragma once

// Structs out of JSON, by what describe.hpp says of them.

#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <rota/json/describe.hpp>
#include <rota/json/document.hpp>

namespace rota::json {

/// Thrown for a value that is not what it should be, and says where: "items[3].name: expected a
/// string, got 12". For the sender: what came is quoted, escaped and no longer than some 40 bytes.
class read_error : public std::runtime_error {
public:
    read_error(std::string path, const std::string& what)
        : std::runtime_error(path.empty() ? what : path + ": " + what), path_(std::move(path)) {}
    /// Returns "items[3].name"; empty for the whole.
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
    std::string path_;
};

struct read_options {
    json::limits limits{};
    /// Refuses members that no description has; else they are skipped.
    bool refuse_unknown = false;
};

namespace detail {

/// Where a value is: a step from the one around it. Lives on the stack of the reader.
struct place {
    const place* around = nullptr;
    std::string_view name{};
    std::size_t index = 0;
    bool is_element = false;
};

[[noreturn]] void fail(const place& at, std::string_view expected, value got);
[[noreturn]] void fail_lacking(const place& at);
[[noreturn]] void fail_twice(const place& at);
[[noreturn]] void fail_unknown(const place& at);
[[nodiscard]] long long read_signed(value from, const place& at, long long least, long long most);
[[nodiscard]] unsigned long long read_unsigned(value from, const place& at,
                                               unsigned long long most);
[[nodiscard]] double read_double(value from, const place& at);
[[nodiscard]] float read_float(value from, const place& at);
[[nodiscard]] std::string_view read_text(value from, const place& at);
void expect(value from, const place& at, kind wanted);

template <class T>
void read_value(T& into, value from, const place& at, const read_options& how);

template <class Enum>
void read_enum(Enum& into, value from, const place& at) {
    const std::string_view text = from.string();
    std::string known;
    for (const auto& each : json_names(Enum{})) {
        if (from.is(kind::string) && each.name == text) {
            into = each.value;
            return;
        }
        known.append(known.empty() ? "one of \"" : ", \"").append(each.name).append("\"");
    }
    fail(at, known, from);
}

template <class T, class Check>
void check(const T& content, const Check& wanted, value from, const place& at) {
    if constexpr (is_optional<T>) {
        if (content)
            check(*content, wanted, from, at);
    } else {
        if (const std::string expected = wanted(content); !expected.empty())
            fail(at, expected, from);
    }
}

template <class T, class Member>
void read_member(T& into, const Member& described, value from, const place& around,
                 const read_options& how) {
    const place at{&around, described.name};
    auto& content = into.*described.place;
    read_value(content, from, at, how);
    std::apply([&](const auto&... each) { (check(content, each, from, at), ...); },
               described.checks);
}

/// Reads the member if it is the one at `Index`; returns false if it is another.
template <std::size_t Index, class T>
bool take_member(T& into, std::string_view name, value content, const place& at,
                 const read_options& how, bool* seen) {
    const auto& wanted = std::get<Index>(members_of<T>);
    if (wanted.name != name)
        return false;
    if (std::exchange(seen[Index], true))
        fail_twice(place{&at, name});
    read_member(into, wanted, content, at, how);
    return true;
}

template <std::size_t Index, class T>
void check_there(const T& into, const place& at, const bool* seen) {
    const auto& wanted = std::get<Index>(members_of<T>);
    using type = std::remove_cvref_t<decltype(into.*wanted.place)>;
    if (!seen[Index] && !wanted.may_lack && !is_optional<type>)
        fail_lacking(place{&at, wanted.name});
}

template <class T, std::size_t... Index>
void read_members(T& into, value from, const place& at, const read_options& how,
                  std::index_sequence<Index...>) {
    std::array<bool, sizeof...(Index) + 1> seen{};
    from.each_member([&](std::string_view name, value content) {
        const bool known = (take_member<Index>(into, name, content, at, how, seen.data()) || ...);
        if (!known && how.refuse_unknown)
            fail_unknown(place{&at, name});
    });
    (check_there<Index>(into, at, seen.data()), ...);
}

template <class T>
void read_list(T& into, value from, const place& at, const read_options& how) {
    expect(from, at, kind::array);
    into.clear();
    std::size_t index = 0;
    from.each_element([&](value element) {
        typename T::value_type content{};
        read_value(content, element, place{&at, {}, index++, true}, how);
        into.push_back(std::move(content));
    });
}

template <class T>
void read_map(T& into, value from, const place& at, const read_options& how) {
    expect(from, at, kind::object);
    into.clear();
    from.each_member([&](std::string_view name, value element) {
        const place here{&at, name};
        typename T::mapped_type content{};
        read_value(content, element, here, how);
        if (!into.emplace(std::string(name), std::move(content)).second)
            fail_twice(here);
    });
}

template <class T>
void read_number(T& into, value from, const place& at) {
    if constexpr (std::is_same_v<T, float>) {
        into = read_float(from, at);
    } else if constexpr (std::is_floating_point_v<T>) {
        into = static_cast<T>(read_double(from, at));
    } else if constexpr (std::is_signed_v<T>) {
        into = static_cast<T>(
            read_signed(from, at, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    } else {
        into = static_cast<T>(read_unsigned(from, at, std::numeric_limits<T>::max()));
    }
}

template <class T>
void read_value(T& into, value from, const place& at, const read_options& how) {
    if constexpr (std::is_same_v<T, bool>) {
        expect(from, at, kind::boolean);
        into = *from.boolean();
    } else if constexpr (std::is_same_v<T, raw>) {
        into.text.clear();
        from.append_text(into.text);
    } else if constexpr (std::is_same_v<T, std::string>) {
        into = read_text(from, at);
    } else if constexpr (std::is_arithmetic_v<T>) {
        read_number(into, from, at);
    } else if constexpr (named_enum<T>) {
        read_enum(into, from, at);
    } else if constexpr (is_optional<T>) {
        if (from.is(kind::null)) {
            into.reset();
        } else {
            read_value(into.emplace(), from, at, how);
        }
    } else if constexpr (described<T>) {
        expect(from, at, kind::object);
        constexpr auto count = std::tuple_size_v<std::remove_cvref_t<decltype(members_of<T>)>>;
        read_members(into, from, at, how, std::make_index_sequence<count>());
    } else if constexpr (is_map<T>) {
        read_map(into, from, at, how);
    } else if constexpr (is_list<T>) {
        read_list(into, from, at, how);
    } else {
        static_assert(never<T>,
                      "say how it looks as JSON: json_members in the struct, json_names() "
                      "beside the enum (rota/json/describe.hpp)");
    }
}

} // namespace detail

/// Makes a T of a value: bool, numbers, std::string, enums with names, structs with members,
/// std::optional (null is nothing), std::vector and what is like it, maps from std::string, `raw`.
/// Throws read_error.
template <class T>
[[nodiscard]] T read(value from, const read_options& how = {}) {
    T result{};
    detail::read_value(result, from, detail::place(), how);
    return result;
}

/// Does the same for a text. Throws parse_error for what is not JSON, too.
template <class T>
[[nodiscard]] T read(std::string_view text, const read_options& how = {}) {
    const document whole = document::parse(text, how.limits);
    return read<T>(whole.root(), how);
}

} // namespace rota::json
