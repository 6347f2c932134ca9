#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
    /// "GET, HEAD, OPTIONS": the value of an Allow field.
    [[nodiscard]] std::string to_string() const;
    bool operator==(const method_set&) const = default;

private:
    static constexpr std::uint16_t bit(method m) noexcept {
        return static_cast<std::uint16_t>(1U << static_cast<unsigned>(m));
    }
    std::uint16_t bits_ = 0;
};

/// A registered handler.
struct route {
    std::string pattern;
    http::method method;
    std::shared_ptr<const http::handler> handler;
    middleware_chain chain; // of the routers it was mounted from, outermost first
    std::vector<std::string> parameters;
};

/// What a request's method and path led to.
struct route_match {
    const route* target = nullptr;
    method_set
        allowed; // without a target: what the path would allow; empty if there is no such path
    route_values values;
};

namespace detail {
class route_tree;
}

/// Maps methods and paths to handlers. Set up by one thread, then immutable and shared by all
/// workers.
///
/// A pattern is a path whose segments are text ("/users/me"), a parameter ("/users/{id}": one
/// segment, not empty), or, at the end, a wildcard ("/files/{path...}", or "/files/*" with the
/// parameter "*": the rest, which may be empty). Text wins over a parameter and a parameter over a
/// wildcard, segment by segment from the left; if what won does not have the method, the others are
/// tried. Paths are compared after percent-decoding, but an encoded slash separates nothing. "/a"
/// and "/a/" are two paths.
///
/// HEAD is served by the GET handler if there is none of its own (the content is left out), OPTIONS
/// is answered with Allow unless it is registered, another method of a known path gives 405 with
/// Allow, the rest is 404.
class router {
public:
    router();
    router(router&&) noexcept;
    router& operator=(router&&) noexcept;
    ~router();

    /// Throws std::invalid_argument for a malformed pattern, or if one of the same shape has the
    /// method already.
    router& add(http::method method, std::string_view pattern, handler h);
    router& get(std::string_view pattern, handler h);
    router& head(std::string_view pattern, handler h);
    router& post(std::string_view pattern, handler h);
    router& put(std::string_view pattern, handler h);
    router& patch(std::string_view pattern, handler h);
    router& delete_(std::string_view pattern, handler h);
    router& options(std::string_view pattern, handler h);
    /// GET, POST, PUT, PATCH and DELETE.
    router& any(std::string_view pattern, handler h);

    /// Puts a function around every handler of this router, and around 404 and 405 answers if it is
    /// the outermost one. The first one added is the outermost. Whether routes are added before or
    /// after makes no difference.
    router& use(middleware function);

    /// Takes over the routes of another router, with its middleware, under a prefix, which may have
    /// parameters but neither a wildcard nor a slash at its end. A route with the empty pattern
    /// becomes the prefix itself. The other router's not_found() is dropped.
    router& mount(std::string_view prefix, router other);

    /// Answers requests for unknown paths instead of a plain 404.
    router& not_found(handler h);

    /// Every route, in the order of registration.
    [[nodiscard]] const std::vector<std::unique_ptr<route>>& routes() const noexcept {
        return routes_;
    }

    // What the session does with it.

    [[nodiscard]] route_match match(http::method method, std::string_view path) const;
    /// Finds the way for a request and notes it there; `found` is what match() would give.
    void resolve(request& req, route_match& found) const;
    /// The handler to call directly if this match needs nothing else: a plain function without
    /// middleware.
    [[nodiscard]] const handler::plain* direct(const route_match& match) const noexcept {
        if (match.target == nullptr || !chain_.empty() || !match.target->chain.empty()) {
            return nullptr;
        }
        return match.target->handler->as_plain();
    }
    /// Runs the middleware and what it leads to. `req` and `match` outlive the task.
    [[nodiscard]] task<response> dispatch(request& req, const route_match& match) const;
    /// The answer where no route was found, without middleware or not_found(): OPTIONS, 404 or 405.
    [[nodiscard]] static response fallback(const request& req, const route_match& match);
    /// True if fallback() is the answer to a request that no route was found for.
    [[nodiscard]] bool plain_fallback() const noexcept { return chain_.empty() && !not_found_; }

private:
    void insert(std::unique_ptr<route> added);
    void find(http::method method, std::string_view path, route_match& found) const;
    task<response> dispatch_bare(request& req, const route_match& match) const;
    task<response> dispatch_wrapped(request* req, const route_match* match) const;
    static task<response> last_step(const void* context, request& req);

    std::vector<std::unique_ptr<route>> routes_;
    std::unique_ptr<detail::route_tree> tree_;
    middleware_chain chain_;
    std::optional<handler> not_found_;
    method_set methods_;
};

} // namespace rota::http
