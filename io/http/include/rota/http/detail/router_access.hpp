#pragma once

#include <string_view>

#include <rota/http/router.hpp>

namespace rota::http {

/// What is done with a router to answer a request.
struct router_access {
    [[nodiscard]] static route_match match(const router& routes, http::method method,
                                           std::string_view path) {
        return routes.match(method, path);
    }
    /// Finds the way for a request and notes it there; `found` is what match() would return.
    static void resolve(const router& routes, request& req, route_match& found) {
        routes.resolve(req, found);
    }
    /// Notes in a request a way that was found for a request with the same head.
    static void note(request& req, const route_match& found) noexcept { router::note(req, found); }
    /// Returns the handler to call directly if this match needs nothing else: a plain function
    /// without middleware.
    [[nodiscard]] static const handler::plain* direct(const route_match& match) noexcept {
        if (match.target == nullptr || !match.target->scope->chain.empty())
            return nullptr;
        return match.target->handler->as_plain();
    }
    /// Runs the middleware and what it leads to. `req`, `match` and the router outlive the task.
    [[nodiscard]] static task<response> dispatch(request& req, const route_match& match);
    /// Returns the answer where no route was found and nothing else has one: OPTIONS, 404 or 405.
    [[nodiscard]] static response fallback(const request& req, const route_match& match);
    /// Returns true if fallback() is all that there is to do for a request without a target.
    [[nodiscard]] static bool plain_fallback(const route_match& match) noexcept {
        return match.scope->chain.empty() && match.answer == nullptr;
    }
    /// Returns what makes the answer to a request that failed; null for plain text. The head may be
    /// incomplete; `found` is null if the way has not been looked for.
    [[nodiscard]] static const error_page*
    error_page_for(const router& routes, const request_head& head, const route_match* found) {
        return routes.error_page_for(head, found);
    }
};

} // namespace rota::http
