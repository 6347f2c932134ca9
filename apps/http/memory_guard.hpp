#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <rota/task.hpp>

namespace rota_http {

/// The memory that this process has in use, as the system counts it: its resident set (man 5 proc).
/// One thread at a time.
class memory_gauge {
public:
    /// Opens /proc/self/statm and keeps it: a look needs no descriptor then.
    memory_gauge() noexcept;
    ~memory_gauge();
    memory_gauge(const memory_gauge&) = delete;
    memory_gauge& operator=(const memory_gauge&) = delete;

    /// In bytes; 0 if it cannot be told.
    [[nodiscard]] std::uint64_t in_use() const noexcept;

private:
    int fd_;
};

/// The memory that there is for this process, in bytes: the machine's, or the limit of its cgroup
/// or of one above that (cgroup v2), or what RLIMIT_AS and RLIMIT_DATA leave of addresses beside
/// what is mapped and not resident (man 2 getrlimit); the least of them. `root` is where /proc and
/// /sys are looked for.
[[nodiscard]] std::uint64_t memory_allowed(const std::string& root = "");

/// Sees to it that a server takes no requests while more memory is in use than there should be.
///
/// Requests are refused from when more than the ceiling is in use until it is an eighth less, so
/// that it does not change its mind with each look. What is at work goes on, and what that takes
/// comes on top: it is bounded by the limits of each connection. Memory that has become free, which
/// the allocator would keep, goes back to the system while requests are refused, and for ten
/// seconds after that. One thread at a time.
class memory_guard {
public:
    struct actions {
        std::function<std::uint64_t()> in_use; ///< in bytes; 0 if that is not known
        std::function<void(bool)> refuse;      ///< refuse requests, or take them again
        std::function<void()> return_memory;   ///< give free memory back to the system
    };

    memory_guard(std::uint64_t ceiling, actions acts);

    /// Compares once, and does what has to be done.
    void look();
    /// Looks ten times a second, until it is cancelled. It outlives the task.
    [[nodiscard]] rota::task<void> watch();

private:
    void return_now_and_then(bool too_much);

    const std::uint64_t ceiling_;
    const actions acts_;
    bool refusing_ = false;
    unsigned looks_ = 0;      // since memory is given back
    unsigned looks_left_ = 0; // for which it is, when requests are taken again
};

} // namespace rota_http
