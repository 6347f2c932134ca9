#include <rota/http/router.hpp>

#include <algorithm>
#include <stdexcept>

#include <rota/http/detail/request_access.hpp>
#include <rota/http/detail/router_access.hpp>

#include "answers.hpp"
#include "route_scopes.hpp"
#include "route_tree.hpp"

namespace rota::http {
namespace {

std::unique_ptr<route> make_route(method m, std::string_view pattern,
                                  std::shared_ptr<const handler> h, const route_scope& scope) {
    auto made = std::make_unique<route>();
    made->pattern = pattern;
    made->method = m;
    made->handler = std::move(h);
    made->scope = &scope;
    return made;
}

task<response> dispatch_bare(request& req, const route_match& match) {
    if (match.target != nullptr)
        return match.target->handler->call(req);
    if (match.answer == nullptr)
        return ready_task(router_access::fallback(req, match));
    return match.answer->call(req);
}

task<response> last_step(const void* match, request& req) {
    return dispatch_bare(req, *static_cast<const route_match*>(match));
}

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

router::router() : tree_(std::make_unique<detail::route_tree>()) {
    scopes_.push_back(std::make_unique<route_scope>());
}
router::router(router&&) noexcept = default;
router& router::operator=(router&&) noexcept = default;
router::~router() = default;

void router::insert(std::unique_ptr<route> added) {
    added->parameters = detail::parsed_pattern(added->pattern).parameters;
    tree_->insert(*added);
    methods_.insert(added->method);
    added->number = static_cast<std::uint32_t>(routes_.size());
    routes_.push_back(std::move(added));
}

router& router::add(http::method method, std::string_view pattern, handler h) {
    if (method == method::other)
        throw std::invalid_argument("a route has a method that is known");
    insert(make_route(method, pattern, std::make_shared<const handler>(std::move(h)), own()));
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
    for (method m : {method::get, method::post, method::put, method::patch, method::delete_})
        insert(make_route(m, pattern, shared, own()));
    return *this;
}

router& router::connect(handler h) {
    connect_ =
        make_route(method::connect, "", std::make_shared<const handler>(std::move(h)), own());
    return *this;
}

router& router::use(middleware function) {
    if (!function)
        throw std::invalid_argument("a middleware is a function");
    const auto shared = std::make_shared<const middleware>(std::move(function));
    const auto place = static_cast<std::ptrdiff_t>(own().chain.size());
    for (const auto& each : scopes_) // all of them begin with this router's own chain
        each->chain.insert(each->chain.begin() + place, shared);
    return *this;
}

router& router::not_found(handler h) {
    own().not_found.emplace(std::move(h));
    return *this;
}

router& router::error(error_page page) {
    own().error_page = std::move(page);
    return *this;
}

router& router::mount(std::string_view prefix, router other) {
    if (prefix.ends_with('/') || detail::parsed_pattern(prefix).wildcard) {
        throw std::invalid_argument("a prefix ends neither in a slash nor in a wildcard");
    }
    if (other.connect_)
        throw std::invalid_argument("CONNECT has no path, so it is the outermost router's");
    other.own().outer = &own();
    for (const auto& each : other.scopes_) {
        each->prefix.insert(0, prefix);
        each->parameters = detail::parsed_pattern(each->prefix).parameters;
    }
    for (auto& moved : other.scopes_) {
        moved->chain.insert(moved->chain.begin(), own().chain.begin(), own().chain.end());
        const auto place = std::upper_bound(
            scopes_.begin(), scopes_.end() - 1, moved,
            [](const auto& a, const auto& b) { return detail::is_before(a->prefix, b->prefix); });
        scopes_.insert(place, std::move(moved));
    }
    for (auto& moved : other.routes_) {
        moved->pattern.insert(0, prefix);
        insert(std::move(moved));
    }
    return *this;
}

route_match router::match(http::method method, std::string_view path) const {
    route_match found;
    find(method, path, found);
    return found;
}

void router::find(http::method method, std::string_view path, route_match& found) const {
    tree_->find(method, path, found);
    if (found.target == nullptr)
        miss(path, found);
}

/// Notes what answers where no route was found. Kept out of line, so that it costs nothing where
/// there is one.
[[gnu::noinline, gnu::cold]] void router::miss(std::string_view path, route_match& found) const {
    if (!found.allowed.empty()) {
        if (found.allowed.contains(method::get))
            found.allowed.insert(method::head);
        found.allowed.insert(method::options);
    }
    found.scope = nullptr;
    found.answer = nullptr;
    found.page = nullptr;
    route_values values;
    for (const auto& each : scopes_) { // the last one has all paths
        if (!detail::is_under(path, each->prefix, values))
            continue;
        if (found.scope == nullptr) {
            found.scope = each.get();
            found.values = values;
            found.values.names = &each->parameters;
        }
        if (found.answer != nullptr || found.page != nullptr)
            continue;
        if (found.allowed.empty() && each->not_found) {
            found.answer = &*each->not_found;
        } else if (each->error_page) {
            found.page = &each->error_page;
        }
    }
}

const error_page* router::error_page_for(const request_head& head, const route_match* found) const {
    if (found != nullptr && found->target != nullptr) {
        const route_scope* scope = found->target->scope;
        while (scope != nullptr && !scope->error_page)
            scope = scope->outer;
        return scope != nullptr ? &scope->error_page : nullptr;
    }
    request probe(head, nullptr);
    const std::string_view path = request_access::prepare_path(probe);
    route_values values;
    for (const auto& each : scopes_) {
        if (each->error_page && detail::is_under(path, each->prefix, values))
            return &each->error_page;
    }
    return nullptr;
}

/// For a request that no handler is for: its scope alone, whose page tells of it.
[[gnu::noinline, gnu::cold]] void router::resolve_unfit(request& req, route_match& found) const {
    found.allowed.insert(method::options); // a path that is not known is another matter
    miss(request_access::prepare_path(req), found);
    note(req, found);
}

/// For a request that is for a host, or for the server as a whole.
[[gnu::noinline, gnu::cold]] void router::resolve_pathless(const request_head& head,
                                                           route_match& found) const {
    found.scope = &own();
    found.answer = nullptr;
    found.page = nullptr;
    if (head.form == target_form::authority) {
        found.target = connect_.get();
        found.page = own().error_page ? &own().error_page : nullptr;
        return;
    }
    found.allowed = methods_;
    if (methods_.contains(method::get))
        found.allowed.insert(method::head);
    found.allowed.insert(method::options);
}

void router::resolve(request& req, route_match& found) const {
    found.target = nullptr;
    found.allowed = {};
    if (request_access::head(req).unfit != 0) {
        resolve_unfit(req, found);
        return;
    }
    if (request_access::head(req).form >= target_form::authority) {
        resolve_pathless(request_access::head(req), found);
        return;
    }
    find(req.method(), request_access::prepare_path(req), found);
    note(req, found);
}

void router::note(request& req, const route_match& found) noexcept {
    request_access::set_route(req, &found.values);
    if (found.target != nullptr)
        request_access::set_pattern(req, &found.target->pattern);
}

task<response> router_access::dispatch(request& req, const route_match& match) {
    const route_scope& scope = match.target != nullptr ? *match.target->scope : *match.scope;
    if (scope.chain.empty())
        return dispatch_bare(req, match);
    return next(scope.chain, last_step, &match)(req);
}

response router_access::fallback(const request& req, const route_match& match) {
    if (const int unfit = request_access::head(req).unfit; unfit != 0) {
        const char* const why = unfit == 417 ? "unknown expectation" : "unknown method";
        return error_answer(match.page, {unfit, why});
    }
    if (request_access::head(req).form == target_form::authority)
        return error_answer(match.page, {501, "CONNECT is for proxies"});
    if (match.allowed.empty())
        return error_answer(match.page, {404, ""});
    response answer =
        req.method() == method::options ? response(204) : error_answer(match.page, {405, ""});
    if (!answer.headers().find("Allow"))
        answer.header("Allow", match.allowed.to_string());
    return answer;
}

} // namespace rota::http
