#include "files.hpp"

#include <algorithm>
#include <utility>

#include <rota/http/files.hpp>

#include "process.hpp"

namespace rota_http {

void add_files(rota::http::router& to, const settings& from, const codings& coded) {
    if (from.files.empty())
        return;
    constexpr std::size_t open_max = 16'384;
    rota::http::files_options options;
    // Each may have three siblings; most descriptors are for clients.
    options.open_max = std::clamp<std::size_t>(raise_descriptor_limit() / 32, 1, open_max);
    rota::http::router served = rota::http::files(from.files, std::move(options));
    served.use(coded.of_answers({}));
    to.mount("/files", std::move(served));
}

} // namespace rota_http
