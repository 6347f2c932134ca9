#include <rota/http/router.hpp>

#include <stdexcept>

#include "route_tree.hpp"

namespace rota::http {
namespace {

/// What the last step behind the middleware needs; lives in the frame of dispatch_wrapped().
struct way {
    const router* routes;
    const route_match* match;
};

task<response> answer_without_route(const request* req, const route_match* match) {
    co_return router::fallback(*req, *match);
}

const middleware_chain no_middleware;

} // namespace

std::string method_set::to_string() const {
    std::string names;
    for (std::size_t i = 0; i < method_count; ++i) {
        if (!contains(static_cast<method>(i)))
            continue;
        if (!names.empty())
            names += ", ";
        names += method_names[i];
    }
    return names;
}

router::router() : tree_(std::make_unique<detail::route_tree>()) {}
router::router(router&&) noexcept = default;
router& router::operator=(router&&) noexcept = default;
router::~router() = default;

void router::insert(std::unique_ptr<route> added) {
    added->parameters = detail::parsed_pattern(added->pattern).parameters;
    tree_->insert(*added);
    methods_.insert(added->method);
    routes_.push_back(std::move(added));
}

router& router::add(http::method method, std::string_view pattern, handler h) {
    auto added = std::make_unique<route>();
    added->pattern = pattern;
    added->method = method;
    added->handler = std::make_shared<const handler>(std::move(h));
    insert(std::move(added));
    return *this;
}

router& router::get(std::string_view pattern, handler h) {
    return add(method::get, pattern, std::move(h));
}
router& router::head(std::string_view pattern, handler h) {
    return add(method::head, pattern, std::move(h));
}
router& router::post(std::string_view pattern, handler h) {
    return add(method::post, pattern, std::move(h));
}
router& router::put(std::string_view pattern, handler h) {
    return add(method::put, pattern, std::move(h));
}
router& router::patch(std::string_view pattern, handler h) {
    return add(method::patch, pattern, std::move(h));
}
router& router::delete_(std::string_view pattern, handler h) {
    return add(method::delete_, pattern, std::move(h));
}
router& router::options(std::string_view pattern, handler h) {
    return add(method::options, pattern, std::move(h));
}

router& router::any(std::string_view pattern, handler h) {
    const auto shared = std::make_shared<const handler>(std::move(h));
    for (method m : {method::get, method::post, method::put, method::patch, method::delete_}) {
        auto added = std::make_unique<route>();
        added->pattern = pattern;
        added->method = m;
        added->handler = shared;
        insert(std::move(added));
    }
    return *this;
}

router& router::use(middleware function) {
    chain_.push_back(std::make_shared<const middleware>(std::move(function)));
    return *this;
}

router& router::mount(std::string_view prefix, router other) {
    if (prefix.ends_with('/') || detail::parsed_pattern(prefix).wildcard) {
        throw std::invalid_argument("a prefix ends neither in a slash nor in a wildcard");
    }
    for (auto& moved : other.routes_) {
        moved->pattern.insert(0, prefix);
        moved->chain.insert(moved->chain.begin(), other.chain_.begin(), other.chain_.end());
        insert(std::move(moved));
    }
    return *this;
}

router& router::not_found(handler h) {
    not_found_.emplace(std::move(h));
    return *this;
}

route_match router::match(http::method method, std::string_view path) const {
    route_match found;
    find(method, path, found);
    return found;
}

void router::find(http::method method, std::string_view path, route_match& found) const {
    tree_->find(method, path, found);
    if (found.target == nullptr && !found.allowed.empty()) {
        if (found.allowed.contains(method::get))
            found.allowed.insert(method::head);
        found.allowed.insert(method::options);
    }
}

void router::resolve(request& req, route_match& found) const {
    found.target = nullptr;
    found.allowed = {};
    if (req.head().form == target_form::asterisk) { // it asks about the server as a whole
        found.allowed = methods_;
        if (methods_.contains(method::get))
            found.allowed.insert(method::head);
        found.allowed.insert(method::options);
        return;
    }
    find(req.method(), req.prepare_path(), found);
    req.set_route(found.target != nullptr ? &found.values : nullptr);
}

task<response> router::dispatch(request& req, const route_match& match) const {
    const bool wrapped =
        !chain_.empty() || (match.target != nullptr && !match.target->chain.empty());
    return wrapped ? dispatch_wrapped(&req, &match) : dispatch_bare(req, match);
}

task<response> router::dispatch_bare(request& req, const route_match& match) const {
    if (match.target != nullptr)
        return match.target->handler->call(req);
    const bool unknown = match.allowed.empty() && req.head().form != target_form::asterisk;
    if (unknown && not_found_)
        return not_found_->call(req);
    return answer_without_route(&req, &match);
}

task<response> router::dispatch_wrapped(request* req, const route_match* match) const {
    const way w{this, match};
    const next first(chain_, match->target != nullptr ? match->target->chain : no_middleware,
                     &router::last_step, &w);
    co_return co_await first(*req);
}

task<response> router::last_step(const void* context, request& req) {
    const way& w = *static_cast<const way*>(context);
    return w.routes->dispatch_bare(req, *w.match);
}

response router::fallback(const request& req, const route_match& match) {
    if (match.allowed.empty())
        return response::fixed("Not Found\n").status(404);
    if (req.method() == method::options) {
        return response(204).header("Allow", match.allowed.to_string());
    }
    return response::fixed("Method Not Allowed\n")
        .status(405)
        .header("Allow", match.allowed.to_string());
}

} // namespace rota::http
