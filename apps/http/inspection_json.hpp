#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <rota/blocked_tasks.hpp>
#include <rota/runtime.hpp>

#include <rota/json/writer.hpp>

namespace rota_http {

// How routines and workers are written, on each page that shows them. Any thread.

/// The name alone: compilers put the result's type before it, and all of a coroutine's behind.
[[nodiscard]] std::string_view name_of(std::string_view function);
/// "file:line"
[[nodiscard]] std::string place_of(const rota::blocked_routine& r);
/// For how long it has waited; not below 0.
[[nodiscard]] std::int64_t age_ms(const rota::blocked_routine& r,
                                  std::chrono::steady_clock::time_point now);
/// The longest waiters of a group, `limit` at most.
[[nodiscard]] std::span<const rota::blocked_routine> first_of(const rota::blocked_group& group,
                                                              std::size_t limit) noexcept;
/// What a group waits for, and the ids of the first `limit` of its routines.
void write_group(rota::json::writer& w, const rota::blocked_group& group, std::size_t limit,
                 std::chrono::steady_clock::time_point now);
/// What it waits for, or has waited for last: `where` and `since_ms` are null if for nothing yet.
void write_routine(rota::json::writer& w, const rota::blocked_routine& r,
                   std::chrono::steady_clock::time_point now);
void write_worker(rota::json::writer& w, const rota::worker_status& status);

} // namespace rota_http
