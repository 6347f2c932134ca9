#pragma once

#include <cstdint>
#include <functional>

#include <rota/http/router.hpp>

#include "codings.hpp"

namespace rota_http {

/// Adds POST /form, which tells what is in a form: its fields, and of its files how long they are
/// and their SHA-256. Takes content of up to `bytes_max` bytes, compressed if `coded` lets it;
/// files are not kept, of fields 128 MiB for all requests together. `return_memory` is as
/// add_samples() has it.
void add_forms(rota::http::router& to, std::uint64_t bytes_max, std::function<void()> return_memory,
               const codings& coded);

} // namespace rota_http
