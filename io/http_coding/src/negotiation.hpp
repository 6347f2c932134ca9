#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <rota/coding/format.hpp>
#include <rota/http/request_head.hpp>

namespace rota::http {

/// What a client takes, of what there is.
struct coding_choice {
    std::optional<coding::format> coding{}; ///< the one that it likes most; none: as it is
    bool as_it_is = true;                   ///< whether it takes what is not coded
    /// Takes it neither as it is nor coded.
    [[nodiscard]] bool nothing() const noexcept { return !coding && !as_it_is; }
};

/// RFC 9110 section 12.5.3; `formats` in the order of the server's preference.
[[nodiscard]] coding_choice choose_coding(header_list asked,
                                          std::span<const coding::format> formats);

/// The codings of a request's content, in the order in which they were applied; nothing if there is
/// one among them that cannot be taken off, or there are more than `count_max`.
[[nodiscard]] std::optional<std::vector<coding::format>> applied_codings(header_list sent,
                                                                         std::size_t count_max);

/// "zstd, br, gzip": those that this build has.
[[nodiscard]] std::string available_codings();

} // namespace rota::http
