#pragma once

#include <rota/http/router.hpp>

#include "codings.hpp"
#include "settings.hpp"

namespace rota_http {

/// Serves the directory of --files at /files/, if there is one, compressed if need be. Throws
/// std::system_error if it cannot be served.
void add_files(rota::http::router& to, const settings& from, const codings& coded);

} // namespace rota_http
