#pragma once

// Sessions that live in a cookie. Needs the library rota-crypto (Meson, pkg-config) or rota::crypto
// (CMake) beside rota.

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <rota/crypto/seal.hpp>
#include <rota/http/cookie.hpp>
#include <rota/http/request.hpp>
#include <rota/http/response.hpp>

namespace rota::http {

/// What the server has to know of a client from one request to the next, kept by the client itself,
/// encrypted or only signed; so there is no store of sessions. Immutable; for any thread.
///
///     const http::session_cookie session(crypto::seal({key}), 24h);
///     if (const auto user = session.read(r)) ...
///     session.write(answer, user);
///
/// A client can send an old one again until its time is over, also after clear(): what must not be
/// possible then (a balance, a session that was ended) needs a store.
class session_cookie {
public:
    enum class kind { sealed, signed_only };

    /// Lasts for `age`, in the client and out of it. The attributes of `how` are those of the
    /// cookie, its value and times are not used; by default it is sent with requests of this host,
    /// and with none that other sites make except for the opening of pages, over TLS only, and no
    /// script sees it. Throws std::invalid_argument for what must not be in a cookie.
    session_cookie(crypto::seal by, std::chrono::seconds age, cookie how = usual(),
                   kind what = kind::sealed)
        : seal_(std::move(by)), age_(age), how_(std::move(how)), kind_(what) {
        how_.value.clear();
        how_.expires.reset();
        how_.max_age = age_;
        if (age_ < std::chrono::seconds(1))
            throw std::invalid_argument("a session lasts for a second at least");
        (void)how_.to_string();
    }

    [[nodiscard]] static cookie usual() {
        return {.name = "__Host-session",
                .value = {},
                .path = "/",
                .secure = true,
                .http_only = true,
                .same_site = same_site::lax};
    }

    /// Returns what was written; nothing if nothing came, or what another made, or what is over.
    /// Looks at the first four cookies of the name, and returns the first valid one.
    [[nodiscard]] std::optional<std::string> read(const request& from) const {
        int tries = 4;
        for (const request_cookie& each : from.cookies()) {
            if (each.name != how_.name)
                continue;
            if (tries-- == 0)
                break;
            std::optional<std::string> text = kind_ == kind::sealed
                                                  ? seal_.open(how_.name, each.value)
                                                  : seal_.verify(how_.name, each.value);
            if (text)
                return text;
        }
        return std::nullopt;
    }

    /// Sets it, for another `age`. Throws std::invalid_argument for more than fits in a cookie
    /// (about 3,000 bytes).
    void write(response& to, std::string_view text) const {
        cookie one = how_;
        one.value = kind_ == kind::sealed ? seal_.close(how_.name, text, age_)
                                          : seal_.sign(how_.name, text, age_);
        to.set_cookie(one);
    }

    /// Has the client forget it.
    void clear(response& to) const { to.set_cookie(how_.removed()); }

private:
    crypto::seal seal_;
    std::chrono::seconds age_;
    cookie how_;
    kind kind_;
};

} // namespace rota::http
