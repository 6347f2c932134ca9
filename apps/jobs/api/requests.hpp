#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/service.hpp"
#include <rota/json/document.hpp>

namespace jobs {

// What clients send, read strictly: a member that is missing, unknown, of the wrong kind or out of
// range is a problem (400, or 413 for a payload) that says which and why.

/// Parses a request's content. Throws problem.
[[nodiscard]] rota::json::document parse(std::string_view text);

/// Throws problem for what is no name of a queue: see is_queue_name().
void check_queue_name(std::string_view name);

/// {"payload": any value, "key"?: string, "delay_ms"?: 0.., "priority"?: 0..9}. Without a key a
/// text is its own key, and any other value (or a text with a zero character) has its canonical
/// text as key.
[[nodiscard]] new_job read_new_job(rota::json::value from, const service_options& limits);

struct take_order {
    take_request wanted{};
    std::chrono::milliseconds wait{0};
};
/// {"max"?: 1.., "wait_ms"?: 0.., "lease_ms"?: 1..}
[[nodiscard]] take_order read_take_order(rota::json::value from, const service_options& limits);

struct acknowledgement {
    std::vector<std::string> acks;
    std::vector<retry> retries;
};
/// {"acks"?: [{"lease_id": string}], "retries"?: [{"lease_id": string, "delay_ms"?: 0..,
/// "error"?: string}]}, at least one of them; a string stands for an object with this lease_id.
[[nodiscard]] acknowledgement read_acknowledgement(rota::json::value from,
                                                   const service_options& limits);

struct extension {
    std::vector<std::string> leases;
    std::int64_t lease_ms = 0;
};
/// {"leases": [{"lease_id": string} or string], "lease_ms"?: 1..}
[[nodiscard]] extension read_extension(rota::json::value from, const service_options& limits);

/// {"max_jobs"?, "max_attempts"?, "lease_ms"?, "payload_bytes_max"?: 1.. or null, "paused"?: bool,
/// "backoff"?: {"after"?: 0.., "initial_ms"?: 0.., "factor"?: 1.., "max_ms"?: initial_ms..}}: what
/// is not said, or null, is as usual.
[[nodiscard]] queue_settings read_settings(rota::json::value from, const service_options& limits);

/// {"ids"?: [string], "before"?: RFC 3339 time, "cause"?: string}: which of the dead are meant.
[[nodiscard]] dead_request read_dead_request(rota::json::value from, dead_action action);

/// The value of an Idempotency-Key field: 1 to 255 visible ASCII characters, with quotes or
/// without. Throws problem.
[[nodiscard]] idempotency read_token(std::string_view field, const new_job& job);

} // namespace jobs
