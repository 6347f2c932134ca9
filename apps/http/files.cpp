#include "files.hpp"

#include <utility>

#include <rota/http/files.hpp>

#include "process.hpp"

namespace rota_http {

void add_files(rota::http::router& to, const settings& from, const codings& coded) {
    if (from.files.empty())
        return;
    rota::http::files_options options;
    options.open_max = descriptors_for_files(raise_descriptor_limit(), from.max_connections);
    rota::http::router served = rota::http::files(from.files, std::move(options));
    served.use(coded.of_answers({}));
    to.mount("/files", std::move(served));
}

} // namespace rota_http
