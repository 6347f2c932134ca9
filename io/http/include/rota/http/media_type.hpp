#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rota::http {

/// A media type with its parameters (RFC 9110 section 8.3.1): the value of a Content-Type, or a
/// range of an Accept. A value.
struct media_type {
    std::string type;    ///< "text", in lower case; "*" in a range
    std::string subtype; ///< "html", in lower case; "*" in a range
    /// Names in lower case, values without their quotes, in their order; a name is there once.
    std::vector<std::pair<std::string, std::string>> parameters;

    /// Reads a media type; returns nothing for what is not one, or has more than 32 parameters.
    [[nodiscard]] static std::optional<media_type> parse(std::string_view text);
    /// Returns "text/html": without parameters.
    [[nodiscard]] std::string essence() const { return type + '/' + subtype; }
    /// Returns whether it is this one ("text/html"), whatever its parameters and its case.
    [[nodiscard]] bool is(std::string_view essence) const noexcept;
    /// Returns whether its content is JSON: application/json, or any with the suffix "+json".
    [[nodiscard]] bool is_json() const noexcept;
    /// Returns the value of a parameter: of "charset", "boundary". Names compare without regard to
    /// case.
    [[nodiscard]] std::optional<std::string_view> parameter(std::string_view name) const noexcept;
    /// Returns the text that parse() takes.
    [[nodiscard]] std::string to_string() const;

    bool operator==(const media_type&) const = default;
};

} // namespace rota::http
