#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <rota/auto_event.hpp>

#include "jobs/job_types.hpp"

namespace jobs {

/// Leases without a holder, whose jobs could not be put back yet: for another try. Any thread.
class unreturned {
public:
    struct leases {
        std::string queue;
        std::vector<std::string> ids;
        bool sent;     ///< see store::put_back()
        bool unsure;   ///< the take that made them may be done only later, or not at all
        time_ms until; ///< when they end by themselves
    };
    static constexpr std::size_t leases_max = 100'000; // 10 MB

    /// Keeps leases. If there are too many, or there is no memory, those kept first, or these, are
    /// left to their end.
    void keep(leases what) noexcept;
    /// Takes those that were kept first, if there are any that have not ended by then.
    [[nodiscard]] std::optional<leases> next(time_ms now) noexcept;
    /// Returns how many times next() returns some, at most.
    [[nodiscard]] std::size_t size() noexcept;
    /// Returns an event that is notified of each keep().
    [[nodiscard]] rota::auto_event& more() noexcept { return more_; }

private:
    leases take_first() noexcept;

    std::mutex lock_; // guards what follows
    std::deque<leases> kept_;
    std::size_t count_ = 0; // of leases
    rota::auto_event more_;
};

} // namespace jobs
