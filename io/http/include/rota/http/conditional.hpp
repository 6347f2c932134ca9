#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <rota/http/method.hpp>
#include <rota/http/request_head.hpp>

namespace rota::http {

// Conditional requests (RFC 9110 section 13), without I/O. Any thread.

/// An entity tag (RFC 9110 section 8.8.3). A view of the text that it was read from.
struct entity_tag {
    std::string_view opaque; ///< without its quotes
    bool weak = false;

    /// Reads "x" or W/"x"; returns nothing for anything else.
    [[nodiscard]] static std::optional<entity_tag> parse(std::string_view text) noexcept;
    /// Returns the tag as it stands in a field.
    [[nodiscard]] std::string to_string() const;
};

/// Returns whether both are strong, and the same (RFC 9110 section 8.8.3.2).
[[nodiscard]] constexpr bool strongly_equal(const entity_tag& a, const entity_tag& b) noexcept {
    return !a.weak && !b.weak && a.opaque == b.opaque;
}
/// Returns whether they are the same, weak or not.
[[nodiscard]] constexpr bool weakly_equal(const entity_tag& a, const entity_tag& b) noexcept {
    return a.opaque == b.opaque;
}

/// Takes the next tag off a list of them; returns nothing at its end. Skips what is not a tag. A
/// comma, and a backslash, inside the quotes are part of a tag.
[[nodiscard]] std::optional<entity_tag> next_entity_tag(std::string_view& list) noexcept;

/// What is known of the representation that a request would get, or change.
struct validators {
    std::optional<entity_tag> tag;
    std::optional<std::chrono::sys_seconds> last_modified;
    bool exists = true; ///< for "*": false where there is none yet
};

/// The result of the preconditions of a request.
enum class precondition : std::uint8_t {
    go_on,        ///< as if there were none
    not_modified, ///< 304
    failed,       ///< 412
};

/// Evaluates If-Match, If-Unmodified-Since, If-None-Match and If-Modified-Since in the order of RFC
/// 9110 section 13.2.2. Call once the request without them would get a 2xx. Ignores invalid dates,
/// and a date field that came twice.
[[nodiscard]] precondition check_preconditions(method asked, header_list fields,
                                               const validators& current);

/// Returns the value of the Range field that is to be honoured, after If-Range (RFC 9110 sections
/// 13.1.5 and 14.2): nothing if there is none, or several, or the method is not GET, or the
/// client's partial copy is out of date. A date in If-Range counts if it is Last-Modified to the
/// second and that second is over, so that nothing can change within it any more.
[[nodiscard]] std::optional<std::string_view>
applicable_range(method asked, header_list fields, const validators& current,
                 std::chrono::system_clock::time_point now = std::chrono::system_clock::now());

} // namespace rota::http
