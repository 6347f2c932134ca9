#pragma once

#include <chrono>
#include <stop_token>

#include <rota/http/detail/wire.hpp>
#include <rota/task.hpp>

namespace rota::http {

/// How long after its last byte a client that still sends what is not read is kept while the server
/// drains.
inline constexpr std::chrono::milliseconds drain_linger{500};

/// Does what wire::linger() does, but knows of the drain: for `limit`, or once the server drains
/// only until nothing has come from the client for `in_drain`. `over` outlives the task.
[[nodiscard]] task<void> linger(wire* over, std::chrono::milliseconds limit,
                                std::stop_token draining, std::chrono::milliseconds in_drain);

} // namespace rota::http
