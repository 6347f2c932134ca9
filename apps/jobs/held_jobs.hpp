#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <rota/task.hpp>

#include "service.hpp"

namespace jobs {

/// Jobs that this process is working on, and their leases. What is neither done() nor failed() is
/// put back at the end, as an attempt that was given up.
///
/// One routine and its children; the service outlives it.
class held_jobs {
public:
    /// `lease_ms` as in take_request.
    held_jobs(service& by, watched_ptr queue, const std::vector<taken_job>& jobs,
              std::int64_t lease_ms);
    held_jobs(const held_jobs&) = delete;
    held_jobs& operator=(const held_jobs&) = delete;
    ~held_jobs();

    /// Extends the leases each time a third of them has passed, until it is stopped, or all are
    /// lost. A store that cannot be used is tried again while they may last. To be run beside the
    /// work, and to have ended before the calls below.
    [[nodiscard]] rota::task<void> keep();
    /// Acknowledges the jobs; returns how many they were. Throws store_error: the leases then end
    /// by themselves. Either way nothing is held afterwards.
    [[nodiscard]] rota::task<std::size_t> done();
    /// Gives the jobs back, with the reason, and a delay unless it is the queue's. A store that
    /// cannot be used is no error: the leases end by themselves.
    [[nodiscard]] rota::task<void> failed(std::string why,
                                          std::optional<std::chrono::milliseconds> delay);
    /// Returns the ids of jobs whose leases have ended or been taken away meanwhile.
    [[nodiscard]] std::vector<std::uint64_t> take_lost() { return std::exchange(lost_, {}); }

private:
    struct held {
        std::string lease;
        std::uint64_t id;
    };
    [[nodiscard]] std::vector<std::string> leases() const;
    void lose(std::vector<held>& of, const std::vector<std::string>& leases);

    service& by_;
    const watched_ptr queue_;
    const std::int64_t lease_ms_;
    std::vector<held> held_;
    time_ms expires_at_; // the first of them
    std::vector<std::uint64_t> lost_;
};

} // namespace jobs
