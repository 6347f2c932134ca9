#pragma once

#include <chrono>
#include <source_location>

#include <rota/task.hpp>
#include <rota/time_span.hpp>

namespace rota {

/// Waits for at least `length`, to the next millisecond of the worker's timer wheel; a length of
/// zero or less still lets the worker's other routines go first. Throws operation_cancelled when
/// stop is requested.
[[nodiscard]] task<void> sleep_for(time_span length,
                                   std::source_location where = std::source_location::current());

/// Does what sleep_for() does, until `when` has passed; time_point::max() waits for a stop request
/// only.
[[nodiscard]] task<void> sleep_until(std::chrono::steady_clock::time_point when,
                                     std::source_location where = std::source_location::current());

} // namespace rota
