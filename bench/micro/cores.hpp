#pragma once

#include <cstddef>

#include <rota/runtime.hpp>

#include "process.hpp"

namespace rota::bench {

/// Keeps the thread of a running runtime's worker on one core. Waking costs differ by an order of
/// magnitude between one core and two, so a case says which it measures.
void pin_worker(runtime& rt, std::size_t index, unsigned core);

} // namespace rota::bench
