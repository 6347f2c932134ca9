#pragma once

#include <chrono>
#include <stop_token>

#include <rota/io/stream.hpp>
#include <rota/task.hpp>

namespace rota::http {

/// Waits until a client that owes nothing sends something. False if it goes, or has to: it is late,
/// or the server drains and nothing comes within `grace`. Throws what stream::fill() throws but
/// timed_out.
[[nodiscard]] task<bool> wait_idle(io::stream* client, std::chrono::steady_clock::time_point until,
                                   std::stop_token draining, std::chrono::milliseconds grace);
/// The same for more than what it has sent already (stream::fill_more()).
[[nodiscard]] task<bool> wait_more(io::stream* client, std::chrono::steady_clock::time_point until,
                                   std::stop_token draining, std::chrono::milliseconds grace);

} // namespace rota::http
