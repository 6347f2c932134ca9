#include <rota/http/auth.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <rota/http/detail/request_access.hpp>
#include <rota/http/fields.hpp>

#include "answers.hpp"
#include "base64.hpp"
#include "constant_time.hpp"

namespace rota::http {
namespace {

void check_realm(std::string_view realm) {
    const auto sendable = [](char c) { return c >= ' ' && c < '\x7f' && c != '"' && c != '\\'; };
    if (!std::ranges::all_of(realm, sendable))
        throw std::invalid_argument("a realm is printable ASCII without quotes");
}

/// RFC 7617 section 2: neither a name nor a password has any.
bool is_without_control(std::string_view text) noexcept {
    return !fields::has_control(text) && text.find('\t') == std::string_view::npos;
}

/// What stands behind the scheme; nothing if there is none of it, or several fields.
std::optional<std::string_view> credentials(const request& req, std::string_view scheme) {
    std::optional<std::string_view> found;
    std::size_t count = 0;
    for (const header_field field : req.headers()) {
        if (!fields::iequals(field.name, "Authorization"))
            continue;
        ++count;
        if (field.value.size() > scheme.size() && field.value[scheme.size()] == ' ' &&
            fields::iequals(field.value.substr(0, scheme.size()), scheme))
            found = fields::trim(field.value.substr(scheme.size()));
    }
    return count == 1 ? found : std::nullopt;
}

task<response> refuse(const error_page& page, std::string_view challenge, literal why) {
    response made = error_answer(page ? &page : nullptr, http_error(401, why));
    made.header("WWW-Authenticate", challenge);
    return ready_task(std::move(made));
}

struct basic_state {
    basic_auth_options options;
    error_page page;
    std::string challenge;

    [[nodiscard]] bool knows(std::string_view name, std::string_view password) const {
        unsigned found = 0;
        for (const basic_user& each : options.users) {
            const unsigned differs =
                difference(each.name, name) | difference(each.password, password);
            found |= static_cast<unsigned>(differs == 0);
        }
        return found != 0 || (options.check && options.check(name, password));
    }
};

/// Returns the name of the user that may get in.
std::optional<std::string> user_of(const basic_state& self, const request& req) {
    const auto given = credentials(req, "Basic");
    if (!given)
        return std::nullopt;
    const auto plain = decode_base64(*given);
    if (!plain || !is_without_control(*plain))
        return std::nullopt;
    const std::size_t colon = plain->find(':');
    if (colon == std::string::npos)
        return std::nullopt;
    std::string name = plain->substr(0, colon);
    if (!self.knows(name, std::string_view(*plain).substr(colon + 1)))
        return std::nullopt;
    return name;
}

struct bearer_state {
    bearer_auth_options options;
    error_page page;
    std::string challenge;
};

task<response> go_on_by_token(const bearer_state* self, request& req, next proceed) {
    const auto given = credentials(req, "Bearer");
    if (!given || given->empty())
        return refuse(self->page, self->challenge, "this needs a token");
    const bool listed = self->options.tokens != nullptr && self->options.tokens->contains(*given);
    std::optional<std::string> user;
    if (!listed && self->options.check)
        user = self->options.check(*given);
    if (!listed && !user)
        return refuse(self->page, self->challenge + ", error=\"invalid_token\"",
                      "this token is not known");
    if (user)
        request_access::facts(req).user = *std::move(user);
    return proceed(req);
}

} // namespace

middleware basic_auth(basic_auth_options options, error_page page) {
    check_realm(options.realm);
    if (options.users.empty() && !options.check)
        throw std::invalid_argument("basic_auth(): nobody could get in");
    for (const basic_user& each : options.users) {
        if (each.name.find(':') != std::string::npos || each.password.empty())
            throw std::invalid_argument("a user has a name without a colon, and a password");
        if (!is_without_control(each.name) || !is_without_control(each.password))
            throw std::invalid_argument("a name or a password has a control character");
    }
    std::string challenge = "Basic realm=\"" + options.realm + "\", charset=\"UTF-8\"";
    auto self = std::make_shared<const basic_state>(
        basic_state{std::move(options), std::move(page), std::move(challenge)});
    return [self = std::move(self)](request& req, next proceed) {
        std::optional<std::string> user = user_of(*self, req);
        if (!user)
            return refuse(self->page, self->challenge, "this needs a user and a password");
        request_access::facts(req).user = *std::move(user);
        return proceed(req);
    };
}

middleware bearer_auth(bearer_auth_options options, error_page page) {
    check_realm(options.realm);
    if (options.tokens == nullptr && !options.check)
        throw std::invalid_argument("bearer_auth(): nobody could get in");
    std::string challenge = "Bearer realm=\"" + options.realm + '"';
    auto self = std::make_shared<const bearer_state>(
        bearer_state{std::move(options), std::move(page), std::move(challenge)});
    return [self = std::move(self)](request& req, next proceed) {
        return go_on_by_token(self.get(), req, proceed);
    };
}

} // namespace rota::http
