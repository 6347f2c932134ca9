#pragma once

#include <cstddef>
#include <cstdint>

#include <rota/http/router.hpp>

namespace rota_http {

/// Adds the pages to try a client on: /plaintext, /json, /echo, /hello/{name}, /bytes/{count},
/// /sleep/{ms}, /stream. /echo takes content of up to `echo_bytes_max` bytes, and keeps about
/// `echo_memory_bytes` for all requests together.
void add_samples(rota::http::router& to, std::uint64_t echo_bytes_max,
                 std::size_t echo_memory_bytes = 134'217'728);

} // namespace rota_http
