#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <rota/http/request.hpp>
#include <rota/http/response.hpp>
#include <rota/task.hpp>

namespace rota::http {

/// A request handler, in one of the shapes
/// - `response()`: a plain function: the cheapest; it runs on the connection's worker and must not
///   block;
/// - `response(const request&)`: the same with the request;
/// - `response(const request&, std::string)`: a plain function that takes the content, whole;
/// - `task<response>(request&)`: a coroutine, which may wait, and read the content in pieces.
///
/// One object serves every worker at once, so it is called as const. The router keeps it for as
/// long as it lives itself, so a coroutine lambda that is a handler may capture.
class handler {
public:
    using plain = std::move_only_function<response(const request&) const>;
    using whole_body = std::move_only_function<response(const request&, std::string) const>;
    using coroutine = std::move_only_function<task<response>(request&) const>;

    template <class Function>
    requires(!std::same_as<std::remove_cvref_t<Function>, handler>)
        // NOLINTNEXTLINE(google-explicit-constructor,bugprone-forwarding-reference-overload): a
        // handler is any such function
        handler(Function&& function)
        : shape_(wrap(std::forward<Function>(function))) {}

    [[nodiscard]] const plain* as_plain() const noexcept { return std::get_if<plain>(&shape_); }
    /// Calls whatever shape it is: a plain function at once, for a ready_task(). `req` outlives the
    /// task, and so does the handler. Throws what such a function throws.
    [[nodiscard]] task<response> call(request& req) const;

private:
    using shape = std::variant<plain, whole_body, coroutine>;

    template <class Function>
    static shape wrap(Function&& function) {
        using given = std::remove_cvref_t<Function>;
        if constexpr (!std::is_function_v<given> && !std::is_empty_v<given> && requires {
                          { function == nullptr } -> std::convertible_to<bool>;
                      }) {
            if (function == nullptr)
                throw std::invalid_argument("a handler is a function, not an empty one");
        }
        using stored = const std::decay_t<Function>&;
        if constexpr (std::is_invocable_r_v<task<response>, stored, request&>) {
            return coroutine(std::forward<Function>(function));
        } else if constexpr (std::is_invocable_r_v<response, stored, const request&>) {
            return plain(std::forward<Function>(function));
        } else if constexpr (std::is_invocable_r_v<response, stored, const request&, std::string>) {
            return whole_body(std::forward<Function>(function));
        } else {
            static_assert(std::is_invocable_r_v<response, stored>,
                          "a handler is response(), response(const request&), "
                          "response(const request&, std::string) or task<response>(request&), "
                          "callable as const");
            return plain([f = std::decay_t<Function>(std::forward<Function>(function))](
                             const request&) -> response { return f(); });
        }
    }

    shape shape_;
};

class next;

/// A function around the inner handlers: `co_return co_await proceed(req)` goes on, anything else
/// answers itself. Kept by the router, as handlers are.
using middleware = std::move_only_function<task<response>(request&, next) const>;

using middleware_chain = std::vector<std::shared_ptr<const middleware>>;

/// What is left of the way to a handler. A value; used within the middleware that got it.
class next {
public:
    using last_step = task<response> (*)(const void* context, request&);

    next(const middleware_chain& chain, last_step last, const void* context) noexcept
        : chain_(&chain), last_(last), context_(context) {}

    /// Goes on. The request outlives the task. If what is behind need not wait, as plain functions
    /// never do, it has been called when this returns, and the task is ready (task::ready()); what
    /// it threw comes out of the task.
    [[nodiscard]] task<response> operator()(request& req) const;

private:
    const middleware_chain* chain_;
    last_step last_;
    const void* context_;
    std::size_t index_ = 0;
};

namespace detail {

template <class Change>
task<response> change_later(Change change, task<response> made) { // made goes first
    response answer = co_await std::move(made);
    change(answer);
    co_return std::move(answer);
}

} // namespace detail

/// For middleware: the answer of `made` behind `change(response&)`, which is called when it is
/// there: at once if it is ready, and then this is no coroutine. What `change` throws comes out of
/// the middleware.
///
///     return then(proceed(req), [](response& answer) { answer.header("X-Robots-Tag", "none"); });
template <std::invocable<response&> Change>
[[nodiscard]] task<response> then(task<response> made, Change change) {
    response* const there = made.ready();
    if (there == nullptr)
        return detail::change_later(std::move(change), std::move(made));
    change(*there);
    return made;
}

} // namespace rota::http
