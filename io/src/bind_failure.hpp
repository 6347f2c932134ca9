#pragma once

#include <rota/io/endpoint.hpp>

namespace rota::io {

/// Throws errno as std::system_error: `what` ("cannot listen on"), the address, and what to do
/// about it, where that is known. `type` is SOCK_STREAM or
/// SOCK_DGRAM.
[[noreturn]] void throw_bind_failure(const endpoint& address, const char* what, int type);

} // namespace rota::io
