#pragma once

#include <array>
#include <coroutine>
#include <cstddef>
#include <mutex>
#include <source_location>
#include <unordered_map>
#include <vector>

#include <rota/list_awaiter.hpp>
#include <rota/routine.hpp>
#include <rota/task.hpp>
#include <rota/wait_list.hpp>

namespace rota {

class routine_registry;

/// A condition that routines wait for (the references' Blocker). Call executor::unblocked() after a
/// change of what is_blocked() looks at.
class blocker {
public:
    /// Returns true while its waiters have to go on waiting. Called on any thread, under the lock
    /// of the blocker's shard of the map, so it must be short, must not throw and must not call the
    /// map.
    [[nodiscard]] virtual bool is_blocked() const noexcept = 0;

protected:
    ~blocker() = default;
};

/// The routines that wait for one thing at one place; at least one.
struct blocked_group {
    /// Longest waiting first. All have the same `on`, `what`, `function`, `file` and `line`.
    std::vector<blocked_routine> waiters;
};

/// The map of blocked tasks: for each thing that is waited for, the routines that wait for it.
///
/// A channel, a lock, a timer or a connection wakes its own waiters; groups() shows them all the
/// same. A condition that is none of these is a blocker: its waiters are kept here, first come
/// first woken, from wait() until unblocked().
///
/// Check-and-park is one step against unblocked(): both hold the lock of the blocker's shard, so no
/// wake-up falls between a waiter's look at is_blocked() and its entry in the map. A woken waiter
/// looks again, because another may have been quicker, and parks again if need be. An entry is
/// removed with its last waiter. Any thread.
class blocked_tasks {
public:
    /// `all` holds the routines that groups() reports; it outlives the map.
    explicit blocked_tasks(const routine_registry& all) noexcept : registry_(all) {}

    /// Waits until `b` is found not to be blocked. `b` must outlive the wait. Throws
    /// operation_cancelled when the routine's stop token is requested.
    task<void> wait(blocker& b, std::source_location where = std::source_location::current());

    /// Wakes every waiter of `b`, unless it is still blocked.
    void unblocked(blocker& b) noexcept;

    /// Returns every routine that is blocked now, grouped by what it waits for, the largest groups
    /// first. A copy: the routines go on meanwhile. Throws std::bad_alloc.
    [[nodiscard]] std::vector<blocked_group> groups() const;

    /// Returns how many blockers have waiters in wait().
    [[nodiscard]] std::size_t size() const;
    /// Returns how many routines wait for `b`.
    [[nodiscard]] std::size_t waiting(const blocker& b) const;

private:
    struct entry {
        wait_list waiters;
        std::size_t count = 0;
    };
    struct shard {
        mutable std::mutex lock;
        std::unordered_map<const blocker*, entry> entries;
    };
    static constexpr std::size_t shard_count = 16;

    [[nodiscard]] shard& shard_of(const blocker& b) noexcept;
    [[nodiscard]] const shard& shard_of(const blocker& b) const noexcept;
    class awaiter;

    const routine_registry& registry_;
    std::array<shard, shard_count> shards_;
};

} // namespace rota
