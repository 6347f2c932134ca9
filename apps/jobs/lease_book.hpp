#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <rota/distinct_job_queue.hpp>

namespace jobs {

/// Jobs by key; the payload is JSON text. Nobody changes a payload once its job has been added.
using job_queue = rota::distinct_job_queue<std::string, std::string>;

/// Who has which job until when. Any thread.
///
/// A lease that leaves the book is the caller's: whatever becomes of it happens outside the book's
/// lock.
class lease_book {
public:
    using time_point = std::chrono::steady_clock::time_point;

    /// Notes that the one job of `job` is held under `id`, which is new, until `deadline`. True if
    /// no lease ends earlier.
    bool add(std::string id, const job_queue& queue, job_queue::lease job, time_point deadline);
    /// Takes the lease `id` out, if it is there and of that queue.
    [[nodiscard]] std::optional<job_queue::lease> remove(std::string_view id,
                                                         const job_queue& queue);
    /// Takes out all that have ended at `now`.
    [[nodiscard]] std::vector<job_queue::lease> remove_ended(time_point now);
    /// When the next one ends; time_point::max() if there is none.
    [[nodiscard]] time_point next_end() const;
    [[nodiscard]] std::size_t size() const;

private:
    using by_end = std::multimap<time_point, std::string_view>; // the id, as the key of the other
    struct entry {
        const job_queue* queue;
        job_queue::lease job;
        by_end::iterator place;
    };
    struct text_hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const noexcept {
            return std::hash<std::string_view>()(text);
        }
    };

    mutable std::mutex lock_; // guards what follows
    std::unordered_map<std::string, entry, text_hash, std::equal_to<>> leases_;
    by_end ends_;
};

} // namespace jobs
