#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "jobs/job_types.hpp"
#include "jobs/watch/store_health.hpp"

namespace jobs {

// The words of the API, in one place.

/// Ids are text for clients: they need not know what they are made of.
[[nodiscard]] inline std::string id_text(std::uint64_t id) { return std::to_string(id); }
/// What id_text() made; nothing if it did not make that.
[[nodiscard]] std::optional<std::uint64_t> read_id(std::string_view text) noexcept;

/// The name of a queue: 1 to 128 letters, digits, '.', '_', '-'; neither "." nor "..".
[[nodiscard]] bool is_queue_name(std::string_view name) noexcept;

[[nodiscard]] std::string_view to_string(job_state state) noexcept;
[[nodiscard]] std::optional<job_state> read_state(std::string_view text) noexcept;
[[nodiscard]] std::string_view to_string(change_kind kind) noexcept;
/// "failed", "lease_ended" or "abandoned"; empty for none.
[[nodiscard]] std::string_view to_string(job_cause cause) noexcept;
/// What to_string() made of one that is not none.
[[nodiscard]] std::optional<job_cause> read_cause(std::string_view text) noexcept;

/// Why a job was not added: a code and a sentence.
struct refusal_words {
    int status;
    std::string_view code;
    std::string_view detail;
};
[[nodiscard]] refusal_words words_of(add_outcome outcome) noexcept;

/// The code of an answer that a call of the store has failed.
[[nodiscard]] std::string_view code_of(store_fault why) noexcept;

/// A time as RFC 3339 has it, in UTC with milliseconds: 2026-01-31T23:59:59.999Z. Years 0 to 9999.
[[nodiscard]] std::string time_text(time_ms when);
/// Any time of RFC 3339; nothing for any other text. Up to the next millisecond, so that what is
/// before the one is before the other. A second 60 is the last of a day, in UTC.
[[nodiscard]] std::optional<time_ms> read_time(std::string_view text) noexcept;

} // namespace jobs
