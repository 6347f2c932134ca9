#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <string>

namespace jobs {

/// Why a call of a store has failed.
enum class store_fault : std::uint8_t {
    failed,      ///< for any other reason
    full,        ///< there is no room on the disk
    unreachable, ///< the database's server cannot be reached
    unknown,     ///< it is not known whether what was asked has been done
    late,        ///< it has not answered in time: of probes only
};
inline constexpr std::size_t store_faults = 5;
[[nodiscard]] const char* to_string(store_fault kind) noexcept;

/// Upper bounds of the buckets of a store's latency, in microseconds; one more holds the rest.
inline constexpr std::array<std::uint32_t, 14> store_bounds_us{
    100,    250,    500,     1'000,   2'500,     5'000,     10'000,
    25'000, 50'000, 100'000, 250'000, 1'000'000, 5'000'000, 15'000'000};

/// What is known of a store, at one moment.
struct store_state {
    bool up = true;
    std::string reason{}; ///< why it is not up
    std::array<std::uint64_t, store_faults> errors{};
    std::array<std::uint64_t, store_bounds_us.size() + 1> latency_counts{};
    std::uint64_t latency_sum_us = 0;
};

/// Whether a store can be used, by the outcome of its calls. It is down from the first call that
/// fails, until a probe succeeds (store_watch) with few calls having failed since the one before.
/// One line in the log says so each time, however many calls there are. Any thread.
class store_health {
public:
    using clock = std::chrono::steady_clock;

    /// Notes a call that succeeded. `proves`: it shows that jobs can be added.
    void succeeded(clock::duration took, bool proves) noexcept;
    void failed(const std::exception& why, clock::duration took) noexcept;
    void failed(store_fault kind, const char* why) noexcept;
    /// Notes that it can be used, as far as one look can show.
    void probed() noexcept;

    /// Calls `told`, under a lock, each time that it has gone down; null: nothing. Must not throw.
    void on_down(std::function<void()> told);

    [[nodiscard]] store_state state() const;
    [[nodiscard]] bool is_up() const noexcept;
    /// Returns whether it is down, and a call has failed since then because the disk was full.
    [[nodiscard]] bool is_full() const noexcept;
    /// Returns whether a call has proved since then that it can be used.
    [[nodiscard]] bool worked_since(clock::time_point then) const noexcept;

private:
    void count(clock::duration took) noexcept;
    void go_down(const char* why) noexcept;

    mutable std::mutex lock_; // guards what follows
    store_state now_;
    bool full_ = false;
    clock::time_point worked_at_{};
    clock::time_point down_since_{};
    std::uint64_t failures_ = 0; // since it went down
    std::function<void()> on_down_;
    std::uint64_t window_calls_ = 0; // since it went down, or the last probe
    std::uint64_t window_failures_ = 0;
};

/// Measures one call: succeeded() or failed() once, or neither if it was cancelled.
class store_call {
public:
    explicit store_call(store_health& of) noexcept : of_(of) {}
    void succeeded(bool proves) noexcept {
        of_.succeeded(store_health::clock::now() - begin_, proves);
    }
    void failed(const std::exception& why) noexcept {
        of_.failed(why, store_health::clock::now() - begin_);
    }

private:
    store_health& of_;
    const store_health::clock::time_point begin_ = store_health::clock::now();
};

} // namespace jobs
