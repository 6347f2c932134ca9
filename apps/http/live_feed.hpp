#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include <rota/mutex.hpp>
#include <rota/task.hpp>

namespace rota_http {

/// A text that is made anew at intervals, while it is waited for: the first that waits makes it
/// for all. A slow reader misses some; nothing is kept for it. Any thread, from routines; outlives
/// all waits.
class live_feed {
public:
    /// Makes the text; one call at a time. What it throws goes to the routine that waited first,
    /// and the next one makes it instead.
    using maker = std::function<rota::task<std::string>()>;
    struct issue {
        std::uint64_t number = 0; ///< from 1
        std::shared_ptr<const std::string> text;
    };

    live_feed(maker make, std::chrono::milliseconds interval)
        : make_(std::move(make)), interval_(interval) {}

    /// The latest, as soon as its number is above `seen` and it is not older than the interval.
    /// Throws operation_cancelled.
    [[nodiscard]] rota::task<issue> next(std::uint64_t seen);

private:
    using time_point = std::chrono::steady_clock::time_point;
    [[nodiscard]] issue recent(std::uint64_t seen, time_point now) const;

    const maker make_;
    const std::chrono::milliseconds interval_;
    rota::mutex making_; // held while waiting for the time, and making it

    mutable std::mutex lock_; // guards what follows
    issue latest_;
    time_point made_at_{};
};

} // namespace rota_http
