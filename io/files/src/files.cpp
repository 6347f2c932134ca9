#include <rota/http/files.hpp>

#include <memory>

#include "file_answer.hpp"
#include "site.hpp"

namespace rota::http {

router files(const std::string& directory, files_options options) {
    const auto served = std::make_shared<site>(directory, std::move(options));
    router routes;
    routes.get("/{path...}", [served](request& r) { return served->answer(r, r.param("path")); });
    routes.get("", [](const request& r) { return slash_answer(r); });
    return routes;
}

} // namespace rota::http
