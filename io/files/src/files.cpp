#include <rota/http/files.hpp>

#include <memory>

#include "site.hpp"

namespace rota::http {
namespace {

task<response> redirect_to_slash(const request* asked) {
    std::string to(asked->raw_path());
    to += '/';
    if (const std::string_view query = asked->query_string(); !query.empty())
        to.append("?").append(query);
    co_return response::redirect(to, 301);
}

} // namespace

router files(const std::string& directory, files_options options) {
    const auto served = std::make_shared<site>(directory, std::move(options));
    router routes;
    routes.get("/{path...}", [served](request& r) { return served->answer(&r, r.param("path")); });
    routes.get("", [](request& r) { return redirect_to_slash(&r); });
    return routes;
}

} // namespace rota::http
