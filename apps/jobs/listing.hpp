#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "service.hpp"

namespace jobs {

/// How many jobs of each list are shown: 1 to 1000, 100 if the client does not say. Throws problem.
[[nodiscard]] std::size_t read_limit(const std::optional<std::string>& given);

/// Counts, and up to `limit` of the queued and of the jobs in progress, in the order of adding, as
/// JSON: {"queue", "counts", "queued": [...], "in_progress": [...], "truncated"}. A queue that is
/// not there (null) is empty. What is looked at is bounded, however long the queue is: "truncated"
/// says that there is more.
[[nodiscard]] std::string describe_queue(std::string_view name, const job_queue* queue,
                                         std::size_t limit);

/// {"queues": [{"queue", "counts"}]}
[[nodiscard]] std::string describe_queues(const std::vector<queue_summary>& queues);

} // namespace jobs
