#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rota/check.hpp>
#include <rota/http/handler.hpp>
#include <rota/http/method.hpp>
#include <rota/http/request.hpp>
#include <rota/http/response.hpp>

namespace rota::http {

/// One bit for each method.
class method_set {
public:
    constexpr void insert(method m) noexcept { bits_ |= bit(m); }
    constexpr void insert(method_set other) noexcept { bits_ |= other.bits_; }
    [[nodiscard]] constexpr bool contains(method m) const noexcept { return (bits_ & bit(m)) != 0; }
    [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }
    /// Returns "GET, HEAD, OPTIONS": the value of an Allow field.
    [[nodiscard]] std::string to_string() const;
    bool operator==(const method_set&) const = default;

private:
    static constexpr std::uint16_t bit(method m) noexcept {
        return static_cast<std::uint16_t>(1U << static_cast<unsigned>(m));
    }
    std::uint16_t bits_ = 0;
};

/// Makes the answer to a request that failed, in place of a short text; `reason` is a few words,
/// the status' own ("Not Found") where there is no more to say. Called by any worker at any time;
/// must not wait.
using error_page = std::move_only_function<response(int status, std::string_view reason) const>;

/// The part of the paths that one router answers for: all of them, or those under the prefix that
/// it was mounted at.
struct route_scope {
    std::string prefix;
    std::vector<std::string> parameters; // of the prefix
    middleware_chain chain;              // of all routers around it and its own, outermost first
    std::optional<handler> not_found;
    http::error_page error_page;       // or none
    const route_scope* outer{nullptr}; // of the router that this one was mounted in
};

/// A registered handler.
struct route {
    std::string pattern;
    http::method method;
    std::shared_ptr<const http::handler> handler;
    const route_scope* scope; // of the router that it was added to
    std::vector<std::string> parameters;
    /// Its index in router::routes(); worker_counters::no_route for connect()'s.
    std::uint32_t number = ~std::uint32_t{0};
};

/// What a request's method and path led to.
struct route_match {
    const route* target = nullptr;
    route_values values;

    // Without a target:
    method_set allowed;                 // what the path would allow; empty if there is no such path
    const route_scope* scope = nullptr; // the innermost one
    const handler* answer = nullptr;    // null for the answer that routers have by themselves
    const error_page* page = nullptr;   // what makes that one, or null
};

namespace detail {
class route_tree;
}

/// Maps methods and paths to handlers. Set up by one thread, then immutable and shared by all
/// workers. A moved-from router can only be assigned to or destroyed; setting it up ends the
/// program with a message.
///
/// A pattern is a path whose segments are text ("/users/me"), a parameter ("/users/{id}": one
/// segment, not empty), or, at the end, a wildcard ("/files/{path...}", or "/files/*" with the
/// parameter "*": the rest, which may be empty). Text wins over a parameter and a parameter over a
/// wildcard, segment by segment from the left; if what won does not have the method, the others are
/// tried. Paths are compared after percent-decoding, but an encoded slash separates nothing. "/a"
/// and "/a/" are two paths. A pattern is written decoded: "/a b" for "/a%20b". It has neither "?"
/// nor "#" nor "%" and two hexadecimal digits, which are not decoded text, nor the segments "." and
/// "..", which clients take out of a path.
///
/// HEAD is served by the GET handler if there is none of its own (the content is left out), OPTIONS
/// is answered with Allow unless it is registered, another method of a known path gives 405 with
/// Allow, the rest is 404: plain text, or what not_found() and error() say.
class router {
public:
    router();
    router(router&&) noexcept;
    router& operator=(router&&) noexcept;
    ~router();

    /// Adds a handler for a method. Throws std::invalid_argument for a malformed pattern, or if one
    /// of the same shape has the method already.
    router& add(http::method method, std::string_view pattern, handler h);
    router& get(std::string_view pattern, handler h);
    router& head(std::string_view pattern, handler h);
    router& post(std::string_view pattern, handler h);
    router& put(std::string_view pattern, handler h);
    router& patch(std::string_view pattern, handler h);
    router& delete_(std::string_view pattern, handler h);
    router& options(std::string_view pattern, handler h);
    /// Adds a handler for GET, POST, PUT, PATCH and DELETE: when one of them throws, those before
    /// it are there.
    router& any(std::string_view pattern, handler h);

    /// Sets what answers CONNECT, whatever host it is for (request::target() is "host:port"), as a
    /// proxy does: with response::tunnel(), or a refusal. Without it that is a 501. Middleware
    /// runs. On the outermost router only.
    router& connect(handler h);

    /// Puts a function around every handler of this router, and around whatever is answered to
    /// requests that no route is found for: 404, 405, OPTIONS, an unknown method (501) or
    /// expectation (417). The first one added is the outermost. Whether routes are added, or
    /// routers mounted, before or after makes no difference.
    router& use(middleware function);

    /// Answers requests for unknown paths instead of a plain 404.
    router& not_found(handler h);
    /// Makes the answers to requests that fail without a handler's own answer: what a handler of
    /// this router, or middleware around it, throws (http_error has a status, else it is 500) and,
    /// to what is under its prefix, 404 unless not_found() gives it, 405, server::refuse()'s 503,
    /// and what cannot be read as a request or comes too slowly (400, 408, 413, 414, 417, 431, 501,
    /// 505). A path that was not reached counts as "/". Of these only what use() names passes
    /// through middleware.
    ///
    /// The status is set, whatever the page sets; so are Allow for 405 and Retry-After for
    /// refuse()'s 503 unless they are there. If the page throws, which is reported, or streams, the
    /// answer is plain text; a page that throws within middleware counts as a handler that throws.
    router& error(error_page page);

    /// Takes over another router under a prefix, which may have parameters but neither a wildcard
    /// nor a slash at its end: its routes, its middleware, and what it answers where no route is
    /// found or a request fails. A route with the empty pattern becomes the prefix itself.
    ///
    /// A request that no route is found for belongs to the router with the longest prefix that its
    /// path is under: "/v1" and "/v1/a" are under "/v1", "/v1x" is not. Text counts before a
    /// parameter, segment by segment from the left; a mounted router before the one around it if it
    /// has no prefix, and of several at one prefix the first. Its middleware runs, and the
    /// parameters of its prefix have values. What it has no handler for is for the next one's, so
    /// not_found() does not count on its own router's middleware. "OPTIONS *" belongs to the
    /// outermost router.
    router& mount(std::string_view prefix, router other);

    /// Returns every route, in the order of registration.
    [[nodiscard]] const std::vector<std::unique_ptr<route>>& routes() const noexcept {
        return routes_;
    }

private:
    friend struct router_access;

    [[nodiscard]] const route_scope& own() const noexcept {
        ROTA_CHECK_ALWAYS(!scopes_.empty(), "a router that has been moved from is not used");
        return *scopes_.back();
    }
    route_scope& own() noexcept { return const_cast<route_scope&>(std::as_const(*this).own()); }
    void insert(std::unique_ptr<route> added);
    [[nodiscard]] route_match match(http::method method, std::string_view path) const;
    void resolve(request& req, route_match& found) const;
    static void note(request& req, const route_match& found) noexcept;
    [[nodiscard]] const error_page* error_page_for(const request_head& head,
                                                   const route_match* found) const;
    void find(http::method method, std::string_view path, route_match& found) const;
    void miss(std::string_view path, route_match& found) const;
    void resolve_pathless(const request_head& head, route_match& found) const;
    void resolve_unfit(request& req, route_match& found) const;

    std::vector<std::unique_ptr<route>> routes_;
    std::unique_ptr<route> connect_; // or none
    std::unique_ptr<detail::route_tree> tree_;
    // Those that requests without a route belong to first; the last is its own.
    std::vector<std::unique_ptr<route_scope>> scopes_;
    method_set methods_;
};

} // namespace rota::http
