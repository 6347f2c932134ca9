#pragma once

#include <chrono>
#include <stop_token>

#include <rota/http/detail/wire.hpp>
#include <rota/task.hpp>

namespace rota::http {

/// How long a client that still sends what nobody reads is kept while the server drains: so long
/// behind its last byte.
inline constexpr std::chrono::milliseconds drain_linger{500};

/// wire::linger() that knows of the drain: for `limit`, or once the server drains only until
/// nothing has come from the client for `in_drain`. `over` outlives the task.
[[nodiscard]] task<void> linger(wire* over, std::chrono::milliseconds limit,
                                std::stop_token draining, std::chrono::milliseconds in_drain);

} // namespace rota::http
