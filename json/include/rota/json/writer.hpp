#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

namespace rota::json {

/// Appends `text` as a JSON string. Bytes that are not UTF-8 become U+FFFD.
void append_quoted(std::string& out, std::string_view text);

/// Returns the beginning of a text, for a message: quoted and escaped, followed by "..." if it goes
/// on.
[[nodiscard]] std::string excerpt(std::string_view text, std::size_t bytes_max = 40);

/// Writes JSON without white space to the end of a string, which outlives it. The caller makes sure
/// that the result is JSON: a value after each key, an end for each begin.
class writer {
public:
    explicit writer(std::string& out) noexcept : out_(out) {}

    writer& begin_object() { return begin('{'); }
    writer& end_object() { return end('}'); }
    writer& begin_array() { return begin('['); }
    writer& end_array() { return end(']'); }

    writer& key(std::string_view name);
    writer& value(std::string_view text);
    writer& value(const char* text) { return value(std::string_view(text)); }
    writer& value(std::same_as<bool> auto truth) { return raw(truth ? "true" : "false"); }
    template <std::integral Integer>
    requires(!std::same_as<Integer, bool>) writer& value(Integer number) {
        char digits[24];
        const auto result = std::to_chars(digits, digits + sizeof digits, number);
        return raw({digits, result.ptr});
    }
    /// Writes the shortest form that reads back as the same; null for what is not finite.
    writer& value(double number);
    writer& null() { return raw("null"); }
    /// Writes what is JSON already.
    writer& raw(std::string_view json);

    template <class Value>
    writer& member(std::string_view name, const Value& content) {
        return key(name).value(content);
    }

private:
    writer& begin(char bracket);
    writer& end(char bracket);
    void separate();

    std::string& out_;
    bool comma_ = false; // something is there that a comma has to follow
};

} // namespace rota::json
