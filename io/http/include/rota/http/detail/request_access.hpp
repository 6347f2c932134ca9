#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <rota/http/request.hpp>

namespace rota::http {

class memory_budget;
class server_metrics;

/// What the router does with a request, and handlers do not.
struct request_access {
    [[nodiscard]] static const request_head& head(const request& of) noexcept { return *of.head_; }
    /// Returns the counters of the server that it has come to; null: of none.
    [[nodiscard]] static const server_metrics* metrics(const request& of) noexcept;
    /// Returns the budget for content that is kept, of the server that it has come to; null: there
    /// is no bound. It outlives the connection.
    [[nodiscard]] static memory_budget* content_memory(const request& of) noexcept;
    /// Does what request::disconnected() does, but goes on for a client that may still read.
    [[nodiscard]] static task<void> lost(const request* of);
    /// Returns the facts, to be added to.
    [[nodiscard]] static request_facts& facts(request& of) {
        if (!of.facts_)
            of.facts_ = std::make_unique<request_facts>();
        return *of.facts_;
    }
    /// Returns the facts, or null: there are none.
    [[nodiscard]] static const request_facts* known_facts(const request& of) noexcept {
        return of.facts_.get();
    }
    /// `pattern`, if not null, outlives the request.
    static void set_pattern(request& of, const std::string* pattern) noexcept {
        of.pattern_ = pattern;
    }
    /// Returns the path to match routes against: decoded except for encoded slashes, which are NUL.
    [[nodiscard]] static std::string_view prepare_path(request& of);
    /// Sets the route. To be called once the path has been matched: turns NULs into slashes.
    /// `found`, if not null, outlives the request.
    static void set_route(request& of, const route_values* found) noexcept;
    /// Makes handlers read the content from `with`, which outlives that, or, if it is null, have
    /// none. Returns what they would have read from.
    static body_reader* exchange_body(request& of, body_reader* with) noexcept {
        return std::exchange(of.body_, with);
    }
};

} // namespace rota::http
