#pragma once

#include <chrono>
#include <stop_token>
#include <string_view>

#include <rota/io/connection.hpp>
#include <rota/task.hpp>

namespace rota::http {

/// Answers what looks like a request with a 400 that says `sentence`, as soon as it is known not to
/// be a HEAD, which gets no content; and lets the client read it: what it still sends is dropped,
/// up to a bound, until `until`, as it is waited for before; while the server drains only until
/// nothing has come for drain_linger. Throws std::system_error where the connection fails.
/// `client` and `sentence` outlive the task.
[[nodiscard]] task<void> refuse_in_clear(io::connection* client, std::string_view sentence,
                                         std::chrono::steady_clock::time_point until,
                                         std::stop_token draining);

} // namespace rota::http
