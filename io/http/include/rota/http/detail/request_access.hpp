#pragma once

#include <string_view>

#include <rota/http/request.hpp>

namespace rota::http {

/// What the router does with a request, and handlers do not.
struct request_access {
    [[nodiscard]] static const request_head& head(const request& of) noexcept { return *of.head_; }
    /// The path to match routes against: decoded but for encoded slashes, which are NUL.
    [[nodiscard]] static std::string_view prepare_path(request& of);
    /// To be called once the path has been matched: turns NULs into slashes.
    /// `found`, if not null, outlives the request.
    static void set_route(request& of, const route_values* found) noexcept;
};

} // namespace rota::http
