#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rota/http/request_head.hpp>

namespace rota::http {

/// A cookie that a client sent: name and value as they came. Views of the request.
struct request_cookie {
    std::string_view name; ///< empty for one that was set without a name
    std::string_view value;
};

/// Returns the cookies of all Cookie fields, in their order, one of a name several times if it came
/// so (RFC 6265 section 5.4: with the longest path first). Spaces and tabs around names and values
/// are not part of them, quotes are; nothing between two ';' is skipped. What has no '=' is the
/// value of a cookie without a name. See request::cookies().
[[nodiscard]] std::vector<request_cookie> read_cookies(header_list among);
/// Returns the value of the first cookie of that name; nothing if there is none. Names compare
/// exactly.
[[nodiscard]] std::optional<std::string_view> find_cookie(header_list among,
                                                          std::string_view name) noexcept;

/// The requests from other sites that a cookie is sent with.
enum class same_site : std::uint8_t {
    unset,  ///< the browser's default, which is `lax` in most
    strict, ///< none
    lax,    ///< those that open a page
    none,   ///< all; only with `secure`
};

/// A cookie to be set, by response::set_cookie(). A value.
///
///     answer.set_cookie({.name = "__Host-id", .value = id, .path = "/", .secure = true,
///                        .http_only = true, .same_site = http::same_site::lax});
struct cookie {
    std::string name = {};
    std::string value = {};
    std::optional<std::chrono::sys_seconds> expires = std::nullopt;
    /// Takes precedence over `expires`. 0 removes it: see removed().
    std::optional<std::chrono::seconds> max_age = std::nullopt;
    /// Empty: the cookie is sent to this very host only.
    std::string domain = {};
    /// Empty: the path of the request, up to its last slash.
    std::string path = {};
    bool secure = false;
    bool http_only = false;
    /// A jar of its own for each site that embeds this one; only with `secure`.
    bool partitioned = false;
    http::same_site same_site = http::same_site::unset;

    /// Returns the value of Set-Cookie (RFC 6265 section 4.1). Throws std::invalid_argument, with a
    /// sentence, for what must not stand there or what browsers refuse: a name that is not a token,
    /// a value that is not of cookie-octets (a pair of quotes may be around them), name and value
    /// of more than 4,096 bytes together, an attribute of more than 1,024; an invalid domain, a
    /// path that does not begin with a slash or has a control character or ';' in it; a `max_age`
    /// below 0, `expires` outside of the years 1601 to 9999; `same_site::none` or `partitioned`
    /// without `secure`; a name that begins, in any case, with "__Secure-" without `secure`, with
    /// "__Host-" without `secure`, with a domain, or with another path than "/", with "__Http-"
    /// without `secure` and `http_only`, with "__Host-Http-" without all of these. So nothing that
    /// is in one of the members can become an attribute, a cookie or a field of its own.
    [[nodiscard]] std::string to_string() const;

    /// Returns a cookie that removes this one: with its name, domain and path, no value, and no
    /// time left.
    [[nodiscard]] cookie removed() const;
};

} // namespace rota::http
