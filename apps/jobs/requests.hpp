#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "service.hpp"
#include "json/document.hpp"

namespace jobs {

// What clients send, read strictly: a member that is missing, unknown, of the wrong kind or out of
// range is a problem (400, or 413 for a payload) that says which and why.

/// Parses a request's content. Throws problem.
[[nodiscard]] json::document parse(std::string_view text);

/// The name of a queue: 1 to 128 letters, digits, '.', '_', '-'. Throws problem.
void check_queue_name(std::string_view name);

struct new_job {
    std::string key;
    std::string payload; ///< JSON without white space
};
/// {"payload": any value, "key"?: string}. Without a key a text is its own key, and any other value
/// has its canonical text as key.
[[nodiscard]] new_job read_new_job(json::value from, const service_options& limits);

struct take_order {
    std::size_t max = 1;
    std::chrono::milliseconds wait{0};
};
/// {"max"?: 1.., "wait_ms"?: 0..}
[[nodiscard]] take_order read_take_order(json::value from, const service_options& limits);

struct acknowledgement {
    std::vector<std::string> acks;
    std::vector<std::string> retries;
};
/// {"acks"?: [{"lease_id": string}], "retries"?: [{"lease_id": string}]}, at least one of them.
[[nodiscard]] acknowledgement read_acknowledgement(json::value from);

} // namespace jobs
