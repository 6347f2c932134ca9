#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/event_log.hpp"
#include "jobs/store.hpp"

namespace jobs {

// What the service shows, as JSON.

/// How many jobs a list shows: 1 to 1000, 100 if the client does not say. Throws problem.
[[nodiscard]] std::size_t read_limit(const std::optional<std::string>& given);
/// What cursor_text() made; the beginning if there is none. Throws problem.
[[nodiscard]] position read_cursor(const std::optional<std::string>& given);
[[nodiscard]] std::string cursor_text(const job_info& last);

/// {"queue", "paused", "settings", "counts", "oldest_age_ms"}; of one that is not there (no value)
/// as it would be.
[[nodiscard]] std::string describe_queue(std::string_view name,
                                         const std::optional<queue_info>& queue, time_ms now);
/// A page of the list of queues: up to 10,000 of them, which is all that there can be, if the
/// client does not say. `cursor` is the `next_cursor` of the page before. Throws problem.
[[nodiscard]] queues_request read_queues_request(const std::optional<std::string>& limit,
                                                 const std::optional<std::string>& cursor);
/// {"queues": [{"queue", "paused", "counts", "oldest_age_ms"}], "next_cursor"?}; the cursor if
/// there are more.
[[nodiscard]] std::string describe_queues(const queue_list& page, time_ms now);
[[nodiscard]] std::string describe_job(const job_info& job);
/// {"jobs": [...], "cursor"?}; the cursor if there are more.
[[nodiscard]] std::string describe_jobs(const job_list& list);
/// {"jobs": [{"id", "key", "payload", "attempt", "lease_id", "lease_expires_at"}]}
[[nodiscard]] std::string describe_taken(const std::vector<taken_job>& jobs);

/// An event as text/event-stream has it; its id is "EPOCH-NUMBER".
[[nodiscard]] std::string describe_event(const event& what, time_ms epoch);
/// Where a client that has seen the event of that id goes on; nothing if that cannot be told.
[[nodiscard]] std::optional<std::uint64_t> read_event_id(std::string_view text, time_ms epoch);

} // namespace jobs
