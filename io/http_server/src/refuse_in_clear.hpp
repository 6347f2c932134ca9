#pragma once

#include <chrono>
#include <string_view>

#include <rota/io/connection.hpp>
#include <rota/task.hpp>

namespace rota::http {

/// Answers what looks like a request with a 400 that says `sentence`, and lets the client read it:
/// what it still sends is dropped, up to a bound, for as long as `linger`. Throws std::system_error
/// where the connection fails. `client` and `sentence` outlive the task.
[[nodiscard]] task<void> refuse_in_clear(io::connection* client, std::string_view sentence,
                                         std::chrono::milliseconds linger);

} // namespace rota::http
