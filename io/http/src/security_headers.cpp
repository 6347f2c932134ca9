#include <rota/http/security_headers.hpp>

#include <memory>
#include <string_view>
#include <utility>

#include <rota/http/detail/request_access.hpp>
#include <rota/http/headers.hpp>

namespace rota::http {
namespace {

struct lines {
    std::string in_clear;
    std::string by_tls;
};

lines lines_of(const security_headers_options& options) {
    headers made; // checks what it is given
    const auto add = [&made](std::string_view name, std::string_view value) {
        if (!value.empty())
            made.add(name, value);
    };
    add("Content-Security-Policy", options.content_security_policy);
    add("Referrer-Policy", options.referrer_policy);
    add("Permissions-Policy", options.permissions_policy);
    add("X-Frame-Options", options.x_frame_options);
    add("Cross-Origin-Opener-Policy", options.cross_origin_opener_policy);
    add("Cross-Origin-Resource-Policy", options.cross_origin_resource_policy);
    add("X-Content-Type-Options", options.nosniff ? "nosniff" : "");
    lines all{.in_clear = std::string(made.wire()), .by_tls = {}};
    add("Strict-Transport-Security", options.strict_transport_security);
    all.by_tls = made.wire();
    return all;
}

} // namespace

middleware security_headers(const security_headers_options& options) {
    auto all = std::make_shared<const lines>(lines_of(options));
    return [all = std::move(all)](request& req, next proceed) {
        request_access::facts(req).answer_fields += req.secure() ? all->by_tls : all->in_clear;
        return proceed(req);
    };
}

} // namespace rota::http
