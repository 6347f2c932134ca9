#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rota/http/handler.hpp>
#include <rota/http/router.hpp>
#include <rota/http/token_file.hpp>

namespace rota::http {

struct basic_user {
    std::string name;     ///< without a colon or control characters
    std::string password; ///< without control characters
};

struct basic_auth_options {
    std::string realm = "rota"; ///< printable ASCII without '"' and '\'
    /// Compared in a time that tells nothing of a password's characters, nor of which name it was.
    std::vector<basic_user> users{};
    /// Called, if set, where no user fits: a program that keeps hashes compares them here. Any
    /// worker; must not wait.
    std::function<bool(std::string_view name, std::string_view password)> check{};
};

/// Answers 401 with WWW-Authenticate unless Authorization has a user and the password (RFC 7617, in
/// UTF-8); request::user() is the name. Only over TLS is it a secret. `page` makes the 401 if it is
/// set. Throws std::invalid_argument for an invalid realm, name or password, or if nobody could get
/// in.
[[nodiscard]] middleware basic_auth(basic_auth_options options, error_page page = {});

struct bearer_auth_options {
    std::string realm = "rota";
    std::shared_ptr<token_file> tokens{};
    /// Called, if set, for a token that `tokens` does not have. Returns the user, or nothing to
    /// refuse. Any worker; must not wait.
    std::function<std::optional<std::string>(std::string_view token)> check{};
};

/// Does the same by `Authorization: Bearer` (RFC 6750); request::user() is what `check` returns.
[[nodiscard]] middleware bearer_auth(bearer_auth_options options, error_page page = {});

} // namespace rota::http
