#pragma once

#include <rota/http/session_control.hpp>
#include <rota/io/connection.hpp>

namespace rota::http {

/// Converts what a session has to know again after a rest to and from the room that a connection
/// has for it. Counts that do not fit are as large as possible.
[[nodiscard]] io::rest_memo memo_of(const session_rest& rest) noexcept;
[[nodiscard]] session_rest rest_of(io::rest_memo memo) noexcept;

} // namespace rota::http
