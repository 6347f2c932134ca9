#include <rota/http/cors.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include <rota/http/detail/request_access.hpp>
#include <rota/http/fields.hpp>
#include <rota/http/guard.hpp>

#include "answer_fields.hpp"
#include "answers.hpp"

namespace rota::http {
namespace {

std::string list_of(const std::vector<std::string>& tokens) {
    std::string list;
    for (const std::string& each : tokens) {
        if (!fields::is_token(each))
            throw std::invalid_argument("cors(): \"" + each + "\" is no token");
        list += (list.empty() ? "" : ", ") + each;
    }
    return list;
}

bool has(const std::vector<std::string>& list, std::string_view text) {
    return std::ranges::find(list, text) != list.end();
}

struct cors_state {
    cors_state(cors_options from, error_page with)
        : options(std::move(from)), page(std::move(with)), anybody(has(options.origins, "*")),
          any_field(has(options.fields, "*")), methods(list_of(options.methods)),
          fields(list_of(options.fields)), exposed(list_of(options.exposed)) {
        if (anybody && options.credentials)
            throw std::invalid_argument("cors(): credentials are never for all origins");
        if (options.credentials && has(options.origins, "null")) // any page can have it, in a frame
            throw std::invalid_argument("cors(): credentials are never for the origin \"null\"");
        // Then browsers take it for a name.
        if (options.credentials && (has(options.methods, "*") || has(options.exposed, "*")))
            throw std::invalid_argument("cors(): with credentials methods and fields are named");
        if (options.origins.empty() && !options.allowed)
            throw std::invalid_argument("cors(): no origin is allowed anything");
        if (options.max_age.count() < 0)
            throw std::invalid_argument("cors(): max_age must not be negative");
        for (const std::string& each : options.origins) {
            if (each != "*" && !is_origin(each))
                throw std::invalid_argument("cors(): \"" + each + "\" is no origin");
        }
    }

    [[nodiscard]] bool allows(std::string_view origin) const {
        return has(options.origins, origin) || (options.allowed && options.allowed(origin));
    }

    const cors_options options;
    const error_page page;
    const bool anybody;
    const bool any_field;
    const std::string methods;
    const std::string fields;
    const std::string exposed;
};

/// The names that a preflight asks for, if they are names.
std::string asked_fields(const request& req) {
    std::string list;
    const std::string asked =
        fields::joined(req.headers(), "Access-Control-Request-Headers").value_or("");
    std::string_view rest = asked;
    while (!rest.empty()) {
        const std::string_view name = fields::next_list_item(rest);
        if (fields::is_token(name))
            list.append(list.empty() ? "" : ", ").append(name);
    }
    return list;
}

response preflight(const cors_state& self, const request& req, bool allowed) {
    constexpr std::string_view varies =
        "Origin, Access-Control-Request-Method, Access-Control-Request-Headers";
    if (!allowed) {
        response no = error_answer(self.page ? &self.page : nullptr,
                                   http_error(403, "pages of this origin may not ask for this"));
        no.header("Vary", varies);
        return no;
    }
    response yes(204);
    yes.header("Vary", varies).header("Access-Control-Allow-Methods", self.methods);
    const std::string fields = self.any_field ? asked_fields(req) : self.fields;
    if (!fields.empty())
        yes.header("Access-Control-Allow-Headers", fields);
    yes.header("Access-Control-Max-Age", std::to_string(self.options.max_age.count()));
    return yes;
}

/// What an outer cors() has granted is not for this: the innermost decides.
void withdraw_grants(request& req) {
    for (const std::string_view name :
         {"Access-Control-Allow-Origin", "Access-Control-Allow-Credentials",
          "Access-Control-Expose-Headers"})
        withdraw_field(req, name);
}

task<response> answer_or_proceed(const cors_state* self, request& req, next proceed) {
    const auto origin = fields::single_value(req.headers(), "Origin");
    // For anybody all answers are alike, so that a cache may keep one for all that ask.
    const bool allowed = self->anybody || (origin && self->allows(*origin));
    withdraw_grants(req);
    if (!self->anybody)
        promise_field(req, "Vary", "Origin");
    if (allowed) {
        promise_field(req, "Access-Control-Allow-Origin", self->anybody ? "*" : *origin);
        if (self->options.credentials)
            promise_field(req, "Access-Control-Allow-Credentials", "true");
    }
    const bool asks = origin && req.method() == method::options &&
                      req.header("Access-Control-Request-Method").has_value();
    if (asks)
        return ready_task(preflight(*self, req, allowed));
    if (allowed && !self->exposed.empty())
        promise_field(req, "Access-Control-Expose-Headers", self->exposed);
    return proceed(req);
}

} // namespace

middleware cors(cors_options options, error_page page) {
    auto self = std::make_shared<const cors_state>(std::move(options), std::move(page));
    return [self = std::move(self)](request& req, next proceed) {
        return answer_or_proceed(self.get(), req, proceed);
    };
}

} // namespace rota::http
