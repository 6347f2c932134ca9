#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// What jobs and queues are made of, and the requests and answers of a store.
namespace jobs {

/// Milliseconds since the beginning of 1970, UTC. The caller says what time it is: a store reads
/// no clock, so what it does depends on nothing but its calls.
using time_ms = std::int64_t;
/// The longest lease that a consumer gets, unless a service says otherwise: 12 hours.
inline constexpr time_ms lease_ms_max = 43'200'000;
inline constexpr time_ms never = INT64_MAX;

/// queued: may be taken; delayed: not before its time; in_progress: a consumer has a lease of it;
/// dead: has failed too often.
enum class job_state : std::uint8_t { queued, delayed, in_progress, dead };

/// How the last attempt at a job has failed. Kept in stores as these numbers.
enum class job_cause : std::uint8_t {
    none,        ///< it has not failed
    failed,      ///< its consumer gave it back
    lease_ended, ///< its consumer said nothing in time
    abandoned,   ///< its consumer had gone before it was told
};

inline constexpr int priority_max = 9;

struct new_job {
    std::string key;
    std::string payload; ///< JSON without white space
    std::int64_t delay_ms = 0;
    int priority = 0; ///< 0 to 9; 9 is taken first
};

/// A client's name for one try to add, so that it can repeat it: the same token with the same
/// content (by its fingerprint) is the same try.
struct idempotency {
    std::string token;
    std::uint64_t fingerprint = 0;
};

enum class add_outcome : std::uint8_t {
    added,
    duplicate,       ///< `id` and `state` are those of the job that is there
    full,            ///< the queue has as many jobs as it may have
    too_large,       ///< the payload, for this queue
    too_many_queues, ///< this would have been a new one
    replayed,        ///< the answer to an earlier try with the same token
    mismatched,      ///< the token was used for something else
    out_of_ids,      ///< the queue has given out all that it has
};
struct add_result {
    add_outcome outcome = add_outcome::added;
    std::uint64_t id = 0;
    job_state state = job_state::queued;
};

/// A consumer's request for jobs.
struct take_request {
    std::size_t max = 1;
    std::int64_t lease_ms = 0; ///< 0: what the queue is set to
};
struct taken_job {
    std::uint64_t id = 0;
    std::string key;
    std::string payload;
    std::uint32_t attempt = 0; ///< from 1
    std::string lease_id;
    time_ms lease_expires_at = 0;
};

struct retry {
    std::string lease_id;
    std::optional<std::int64_t> delay_ms{}; ///< not given: as the queue is set to
    std::string error{};                    ///< kept with the job; empty: none
    bool operator==(const retry&) const = default;
};
struct settle_result {
    std::size_t acked = 0;
    std::size_t retried = 0;
    std::vector<std::string> lost{}; ///< leases that had ended, or never existed
};

struct lease_end {
    std::string lease_id;
    time_ms expires_at = 0;
};
struct extend_result {
    std::vector<lease_end> leases{};
    std::vector<std::string> lost{};
};

/// When a job is given out again that has failed several times in a row (backoff.hpp). What is not
/// given is as usual.
struct backoff_settings {
    std::optional<std::uint32_t> after{};        ///< up to this many failures in a row: at once
    std::optional<std::int64_t> initial_ms{};    ///< after one more
    std::optional<std::uint32_t> factor_milli{}; ///< for each one more; in thousandths
    std::optional<std::int64_t> max_ms{};
    bool operator==(const backoff_settings&) const = default;
};
/// 0 stands for the store's default.
struct queue_settings {
    std::uint64_t max_jobs = 0;
    std::uint32_t max_attempts = 0; ///< 0: no limit
    std::int64_t lease_ms = 0;
    std::uint64_t payload_bytes_max = 0;
    bool paused = false;
    backoff_settings backoff{};
    bool operator==(const queue_settings&) const = default;
};
struct queue_counts {
    std::uint64_t queued = 0;
    std::uint64_t delayed = 0;
    std::uint64_t in_progress = 0;
    std::uint64_t dead = 0;
    std::uint64_t added = 0;         ///< so far; so are those that follow
    std::uint64_t completed = 0;     ///< acknowledged
    std::uint64_t failures = 0;      ///< given back, expired or abandoned
    std::uint64_t expired = 0;       ///< those of them whose lease had ended
    std::uint64_t duplicates = 0;    ///< refused, being there already
    std::int64_t queued_ms = 0;      ///< how long jobs had to wait, in all, until they were taken
    std::int64_t in_progress_ms = 0; ///< how long leases were held, in all
    bool operator==(const queue_counts&) const = default;
};
struct queue_info {
    std::string name;
    queue_settings settings;
    queue_counts counts;
    std::optional<time_ms> oldest; ///< when the oldest of the queued was added
};

struct queues_request {
    std::string after{}; ///< only those whose names come after it, by their bytes
    std::size_t limit = 10'000;
    bool operator==(const queues_request&) const = default;
};
struct queue_list {
    std::vector<queue_info> queues;
    bool more = false;
};

struct job_info {
    std::uint64_t id = 0;
    std::string key;
    std::string payload;
    job_state state = job_state::queued;
    int priority = 0;
    std::uint32_t attempts = 0;
    std::uint32_t duplicates = 0;
    time_ms added_at = 0;
    time_ms due_at = 0; ///< the end of the lease or of the delay; 0: neither
    std::int64_t queued_ms = 0;
    std::int64_t in_progress_ms = 0;
    std::string error{}; ///< of the last retry that gave one
    job_cause cause = job_cause::none;
    time_ms since = 0; ///< in this state
};

/// A place in the order in which jobs are taken. Places do not change, so a list can be continued
/// from one whatever has happened to its job.
struct position {
    std::uint8_t rank = 0; ///< 9 - priority
    std::uint64_t id = 0;  ///< 0: before all others of that rank
    auto operator<=>(const position&) const = default;
};
struct list_request {
    job_state state = job_state::queued;
    position after{};
    std::size_t limit = 100;
    std::size_t payload_bytes_max = 4'194'304; ///< a list ends early where they add up to this
};
struct job_list {
    std::vector<job_info> jobs;
    bool more = false;
};

enum class revive_outcome : std::uint8_t { revived, unknown, duplicate };
struct revive_result {
    revive_outcome outcome = revive_outcome::revived;
    std::uint64_t id = 0; ///< with duplicate: this and `state` are those of the job that is there
    job_state state = job_state::queued;
};

enum class removal : std::uint8_t { removed, unknown, in_progress };
/// How many jobs one slice of a queue's removal handles.
inline constexpr std::size_t removed_at_once = 500;
struct removed_queue {
    removal outcome = removal::removed;
    bool more = false;       ///< there are jobs left: call again
    std::size_t jobs = 0;    ///< that were removed now; 0 with more: others hold them
    std::uint64_t queue = 0; ///< its number, by which the next slice identifies it
};

enum class dead_action : std::uint8_t { revive, remove };
/// What is to be done with the dead jobs of a queue: with those to which all given conditions
/// apply.
struct dead_request {
    dead_action action = dead_action::revive;
    std::optional<std::vector<std::uint64_t>> ids{};
    std::optional<time_ms> before{};   ///< failed before that time
    job_cause cause = job_cause::none; ///< none: any
    /// Without ids: where to go on, and how many are looked at, whether the conditions apply to
    /// them or not.
    position after{};
    std::size_t limit = 500;
    std::uint64_t queue = 0; ///< what the previous slice returned; 0: this is the first
};
struct dead_result {
    std::uint64_t done = 0;
    std::uint64_t duplicates = 0; ///< stay dead: their keys are there again
    position after{};             ///< the last that was looked at
    bool more = false;            ///< after that
    std::uint64_t queue = 0;      ///< its number, by which the next slice identifies it
};

enum class change_kind : std::uint8_t {
    added,
    taken,
    completed,
    retried,   ///< given back by its consumer
    expired,   ///< the lease has ended
    abandoned, ///< its consumer had gone before it was told
    died,      ///< has failed too often
    due,       ///< its delay is over
    extended,
    deleted,
    revived, ///< from the dead
    purged,
    paused,
    resumed,
    configured,
    removed, ///< the queue, with all that was in it
};
/// Something that has happened to a queue or to one job of it.
struct change {
    change_kind kind = change_kind::added;
    std::shared_ptr<const std::string> queue;
    std::uint64_t id = 0; ///< 0: of the queue
    std::uint32_t attempt = 0;
    time_ms at = 0;
    time_ms due = 0; ///< after this pass_time() is wanted for it; 0: not
    /// How long the job had been in the state that it has left; -1: it has left none, or another
    /// server has told of it.
    std::int64_t spent_ms = -1;
};

/// The limits that every store of this program is made with.
struct store_limits {
    std::uint64_t jobs_max = 10'000'000; ///< of one queue, the dead included
    std::size_t queues_max = 10'000;     ///< more are refused
    /// Of all queues, where they are in memory: beyond it every queue is full.
    std::uint64_t memory_bytes_max = UINT64_MAX;
    std::int64_t lease_ms = 30'000;          ///< of a queue that is not set to another
    std::size_t take_bytes_max = 16'777'216; ///< payloads given to one consumer at once
    std::int64_t token_kept_ms = 86'400'000; ///< how long an idempotency token holds
    std::size_t tokens_max = 1'000'000;      ///< of all queues; the oldest go first
};

} // namespace jobs
