#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <rota/runtime.hpp>

#include "json/writer.hpp"

namespace rota_http {

// How routines and workers are written, on each page that shows them. Any thread.

/// The name alone: compilers put the result's type before it, and all of a coroutine's behind.
[[nodiscard]] std::string_view name_of(std::string_view function);
/// "file:line"
[[nodiscard]] std::string place_of(const rota::blocked_routine& r);
/// For how long it has waited; not below 0.
[[nodiscard]] std::int64_t age_ms(const rota::blocked_routine& r,
                                  std::chrono::steady_clock::time_point now);
void write_routine(json::writer& w, const rota::blocked_routine& r,
                   std::chrono::steady_clock::time_point now);
void write_worker(json::writer& w, const rota::worker_status& status);

} // namespace rota_http
