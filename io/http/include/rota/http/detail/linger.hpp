#pragma once

#include <stop_token>

#include <rota/http/detail/wire.hpp>
#include <rota/http/limits.hpp>
#include <rota/task.hpp>

namespace rota::http {

/// Lets the client read its last answer. When the server drains, one that owes nothing, all that it
/// has sent having been read, has no more time for that than an idle one: it need not end by itself
/// as soon as it is told. What is pointed to outlives the task.
[[nodiscard]] task<void> linger(wire* over, const server_limits* limits, std::stop_token draining,
                                bool owes_nothing);

} // namespace rota::http
