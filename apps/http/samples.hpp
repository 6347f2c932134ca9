#pragma once

#include <cstdint>
#include <functional>

#include <rota/http/router.hpp>

#include "codings.hpp"

namespace rota_http {

/// Adds the pages to try a client on: /plaintext, /json, /echo, /hello/{name}, /bytes/{count},
/// /sleep/{ms}, /stream. /echo takes content of up to `echo_bytes_max` bytes, and keeps about 128
/// MiB for all requests together; `return_memory` is called on a worker when it had kept much and
/// no longer does. What `coded` says of codings holds for /bytes, /stream and /echo.
void add_samples(rota::http::router& to, std::uint64_t echo_bytes_max,
                 std::function<void()> return_memory, const codings& coded);

} // namespace rota_http
