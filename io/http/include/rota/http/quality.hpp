#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace rota::http {

// What a client prefers: the lists of Accept, Accept-Encoding and Accept-Language with their
// weights (RFC 9110 section 12.4.2). Any thread; views are of what was given.

/// An element of such a list.
struct weighted {
    std::string_view value; ///< without its weight, with other parameters
    int quality = 1000;     ///< in thousandths, 0 to 1000; 0: not acceptable
};

/// Returns the first 100 elements, in their order; those with an invalid weight are left out.
[[nodiscard]] std::vector<weighted> parse_quality_list(std::string_view list);

// These return the one of `offers`, best first, that the client prefers; of those that it likes
// equally the first. Nothing if it takes none of them: 406, or the answer as it is. A missing field
// (r.header("Accept") has nothing) takes everything. One that is spread over several fields is
// fields::joined() before.

/// Chooses for Accept. The most specific range counts: "text/html;level=1", "text/html", "text/*",
/// "*/*".
[[nodiscard]] std::optional<std::string_view>
preferred_media_type(std::optional<std::string_view> accept,
                     std::span<const std::string_view> offers);
/// Chooses for Accept-Encoding, of which the first 1,000 elements count. "identity" is one of the
/// offers if the content can go as it is; it is acceptable, after all that are named, unless the
/// client says otherwise.
[[nodiscard]] std::optional<std::string_view>
preferred_coding(std::optional<std::string_view> accept_encoding,
                 std::span<const std::string_view> offers);
/// Chooses for Accept-Language. "de" in the list takes "de-CH" of the offers, too (RFC 4647 section
/// 3.3.1).
[[nodiscard]] std::optional<std::string_view>
preferred_language(std::optional<std::string_view> accept_language,
                   std::span<const std::string_view> offers);

} // namespace rota::http
