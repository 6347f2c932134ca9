#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "jobs/job_types.hpp"
#include "ledger.hpp"

/// What can be asked of a store, each as a value: the arguments, and run(), which has the rules do
/// it. It may be called again, but for that of `add`, which is used up. What the calls mean is said
/// at `store`.
namespace jobs::operations {

struct add {
    std::string queue;
    std::vector<new_job> jobs;
    std::optional<idempotency> token;
    time_ms now;
    auto run(ledger& on) { return on.add(queue, std::move(jobs), token, now); }
};

struct take {
    std::string queue;
    std::vector<take_request> wanted;
    time_ms now;
    auto run(ledger& on) { return on.take(queue, wanted, now); }
};

struct settle {
    std::string queue;
    std::vector<std::string> acks;
    std::vector<retry> retries;
    time_ms now;
    auto run(ledger& on) { return on.settle(queue, acks, retries, now); }
};

struct extend {
    std::string queue;
    std::vector<std::string> leases;
    std::int64_t lease_ms;
    time_ms now;
    auto run(ledger& on) { return on.extend(queue, leases, lease_ms, now); }
};

/// `unsure`: the step that made the leases may not have ended yet, which is then waited for.
struct put_back {
    std::string queue;
    std::vector<std::string> leases;
    bool sent;
    bool unsure;
    time_ms now;
    bool run(ledger& on) {
        on.put_back(queue, leases, sent, now);
        return true;
    }
};

struct pass_time {
    time_ms now;
    auto run(ledger& on) { return on.pass_time(now); }
};

/// Changes nothing: that the step can be done is the answer. `after_full`: the last that is known
/// is that there was no room on the disk.
struct probe {
    time_ms now;
    bool after_full;
    bool run(ledger&) { return true; }
};

struct describe {
    std::string queue;
    time_ms now;
    auto run(ledger& on) { return on.describe(queue, now); }
};

struct queues {
    queues_request what;
    time_ms now;
    auto run(ledger& on) { return on.queues(what, now); }
};

struct list {
    std::string queue;
    list_request what;
    time_ms now;
    auto run(ledger& on) { return on.list(queue, what, now); }
};

struct find {
    std::string queue;
    std::uint64_t id;
    time_ms now;
    auto run(ledger& on) { return on.find(queue, id, now); }
};

struct find_key {
    std::string queue;
    std::string key;
    std::size_t limit;
    time_ms now;
    auto run(ledger& on) { return on.find_key(queue, key, limit, now); }
};

struct remove {
    std::string queue;
    std::uint64_t id;
    time_ms now;
    auto run(ledger& on) { return on.remove(queue, id, now); }
};

struct configure {
    std::string queue;
    queue_settings to;
    time_ms now;
    auto run(ledger& on) { return on.configure(queue, to, now); }
};

struct pause {
    std::string queue;
    bool paused;
    time_ms now;
    auto run(ledger& on) { return on.pause(queue, paused, now); }
};

/// One step of a purge: to be asked for until it is done.
struct purge {
    std::string queue;
    purge_progress at;
    time_ms now;
    auto run(ledger& on) { return on.purge(queue, at, now); }
};

struct retry_dead {
    std::string queue;
    std::uint64_t id;
    time_ms now;
    auto run(ledger& on) { return on.retry_dead(queue, id, now); }
};

struct remove_queue {
    std::string queue;
    std::uint64_t number;
    bool forced;
    time_ms now;
    auto run(ledger& on) { return on.remove_queue(queue, number, forced, now); }
};

struct settle_dead {
    std::string queue;
    dead_request what;
    time_ms now;
    auto run(ledger& on) { return on.settle_dead(queue, what, now); }
};

/// Any of them.
using any = std::variant<add, take, settle, extend, put_back, pass_time, probe, describe, queues,
                         list, find, find_key, remove, configure, pause, purge, retry_dead,
                         remove_queue, settle_dead>;

} // namespace jobs::operations
