#pragma once

// Describes how a struct or an enum of the program looks as JSON, once for reading and writing:
//
//     struct item {
//         std::string name;
//         int count = 1;
//         std::optional<std::string> note;
//
//         static constexpr auto json_members = rota::json::members(
//             rota::json::member("name", &item::name, rota::json::length(1, 100)),
//             rota::json::optional_member("count", &item::count, rota::json::between(1, 1000)),
//             rota::json::member("note", &item::note));
//     };
//
//     enum class color { red, green };
//     constexpr auto json_names(color) {
//         return rota::json::names<color>({{"red", color::red}, {"green", color::green}});
//     }

#include <array>
#include <concepts>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace rota::json {

/// One member of a struct. `checks` are called with what was read: see between().
template <class Class, class Type, class... Checks>
struct member_description {
    std::string_view name;
    Type Class::*place;
    bool may_lack; ///< then the struct keeps the value that it has already
    std::tuple<Checks...> checks;
};

/// Describes a member that has to be there, unless it is a std::optional.
template <class Class, class Type, class... Checks>
[[nodiscard]] constexpr member_description<Class, Type, Checks...>
member(std::string_view name, Type Class::*place, Checks... checks) {
    return {name, place, false, {checks...}};
}

/// Describes a member that may be missing.
template <class Class, class Type, class... Checks>
[[nodiscard]] constexpr member_description<Class, Type, Checks...>
optional_member(std::string_view name, Type Class::*place, Checks... checks) {
    return {name, place, true, {checks...}};
}

/// Lists all members, in the order in which they are written.
template <class... Members>
[[nodiscard]] constexpr std::tuple<Members...> members(Members... all) {
    return {all...};
}

namespace detail {
struct not_described {};

template <class T>
constexpr auto own_members() {
    if constexpr (requires { T::json_members; }) {
        return T::json_members;
    } else {
        return not_described();
    }
}

/// Returns "1 to 100", of numbers or of a length.
[[nodiscard]] std::string range_text(long long least, long long most);
[[nodiscard]] std::string range_text(double least, double most);
/// Returns how many characters a text in UTF-8 has.
[[nodiscard]] std::size_t characters(std::string_view text) noexcept;
} // namespace detail

/// The members of T. For a struct that is not the program's own, specialize it.
template <class T>
inline constexpr auto members_of = detail::own_members<T>();

template <class T>
concept described = std::is_class_v<T> &&
    !std::same_as<std::remove_cvref_t<decltype(members_of<T>)>, detail::not_described>;

template <class Enum>
struct enum_name {
    std::string_view name;
    Enum value;
};

/// Lists the names of an enum's values, for its json_names(), which is found by the enum's
/// namespace.
template <class Enum, std::size_t Count>
[[nodiscard]] constexpr std::array<enum_name<Enum>, Count>
names(const enum_name<Enum> (&list)[Count]) {
    std::array<enum_name<Enum>, Count> all{};
    for (std::size_t i = 0; i < Count; ++i)
        all[i] = list[i];
    return all;
}

template <class T>
concept named_enum = std::is_enum_v<T> && requires {
    json_names(T{});
};

// Checks. A check of one's own is any constexpr object that is called with the member and returns a
// std::string: empty if all is well, else what was expected, "a name without spaces".

/// Returns a check for a number from `least` to `most`, of any type; with a fraction in one of
/// them, both are doubles. Whole bounds beyond long long are refused: std::invalid_argument, or a
/// compile error in a constant.
template <class Least, class Most>
requires(std::is_arithmetic_v<Least>&& std::is_arithmetic_v<Most>)
    [[nodiscard]] constexpr auto between(Least least, Most most) {
    constexpr bool whole = std::is_integral_v<Least> && std::is_integral_v<Most>;
    using bound = std::conditional_t<whole, long long, double>;
    if constexpr (whole) {
        if (!std::in_range<long long>(least) || !std::in_range<long long>(most))
            throw std::invalid_argument("between(): a bound is beyond long long");
    }
    return [from = static_cast<bound>(least),
            to = static_cast<bound>(most)](const auto& number) -> std::string {
        using type = std::remove_cvref_t<decltype(number)>;
        static_assert(std::is_arithmetic_v<type>, "between() is for numbers");
        bool within = false;
        if constexpr (!whole || std::is_floating_point_v<type>) {
            using wide = long double; // has every integer, too
            const auto at = static_cast<wide>(number);
            within = at >= static_cast<wide>(from) && at <= static_cast<wide>(to);
        } else if constexpr (std::is_unsigned_v<type>) {
            within = (from <= 0 || number >= static_cast<unsigned long long>(from)) && to >= 0 &&
                     number <= static_cast<unsigned long long>(to);
        } else {
            within = number >= from && number <= to; // not as `type`, which may be a shorter one
        }
        return within ? std::string() : "a number from " + detail::range_text(from, to);
    };
}

/// Returns a check for a text of `least` to `most` characters, or a list of that many elements.
[[nodiscard]] constexpr auto length(std::size_t least, std::size_t most) {
    return [least, most](const auto& what) -> std::string {
        using type = std::remove_cvref_t<decltype(what)>;
        constexpr bool is_text = std::is_convertible_v<const type&, std::string_view>;
        std::size_t size = 0;
        if constexpr (is_text) {
            size = detail::characters(what);
        } else {
            size = what.size();
        }
        if (size >= least && size <= most)
            return {};
        return detail::range_text(static_cast<long long>(least), static_cast<long long>(most)) +
               (is_text ? " characters" : " elements");
    };
}

/// JSON as it is: a member of this type takes, and becomes, any value.
struct raw {
    std::string text = "null"; ///< without white space
    bool operator==(const raw&) const = default;
};

namespace detail {
template <class T>
struct optional_type : std::false_type {};
template <class T>
struct optional_type<std::optional<T>> : std::true_type {};
template <class T>
concept is_optional = optional_type<T>::value;

/// std::map<std::string, T> and the like.
template <class T>
concept is_map = requires {
    typename T::mapped_type;
    requires std::same_as<typename T::key_type, std::string>;
};

/// std::vector and the like.
template <class T>
concept is_list = !is_map<T> && !std::same_as<T, std::string> && requires(T & list) {
    typename T::value_type;
    list.emplace_back();
    list.size();
};

template <class T>
inline constexpr bool never = false;
} // namespace detail

} // namespace rota::json
