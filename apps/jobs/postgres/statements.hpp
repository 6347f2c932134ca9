#pragma once

#include <span>

#include <rota/task.hpp>

#include "connection.hpp"

namespace jobs {

/// The statements of the store, by the names that they are prepared under.
namespace sql {

struct prepared {
    const char* name;
    const char* text;
};
extern const prepared begin;
extern const prepared commit;
extern const prepared roll_back;
extern const prepared add_nothing; ///< refused where jobs cannot be added; writes nothing
extern const prepared add_waste;   ///< a job $1 with payload $2 that no rule knows of
// What reads jobs gives the columns of postgres_table::load(). Parameters: see the text.
extern const prepared any_due;      ///< a job whose time is before $1
extern const prepared lock_due;     ///< those of them that nobody else has in hand
extern const prepared next_due;     ///< the job that is next, from $1 on
extern const prepared queues_named; ///< without counts
extern const prepared queues_counted;
extern const prepared queues_page;  ///< up to $2 behind $1, by name, with counts
extern const prepared lock_queue;   ///< until the end of the transaction; its number
extern const prepared new_ids;      ///< $1 of them
extern const prepared lock_over;    ///< jobs that hold keys, by their digests, and are over
extern const prepared find_digests; ///< those that are not, by the digests
extern const prepared lock_leases;  ///< jobs in progress, or all, by their ids and old leases
extern const prepared lock_id;      ///< a job
extern const prepared lock_dead;    ///< a slice of the dead
extern const prepared find_holders; ///< the holders of that slice's keys
extern const prepared lock_dead_named;
extern const prepared find_digest;      ///< the job that holds a key
extern const prepared find_dead_digest; ///< the dead that held it, the latest first
extern const prepared lock_slice;       ///< some jobs that nobody else has in hand
extern const prepared lock_keys_of;     ///< of a queue that has less than a slice of jobs
extern const prepared lock_counts_of;   ///< the same
extern const prepared count_slice;      ///< its jobs, up to one more than a slice; its counts
extern const prepared find_holders_named;
extern const prepared lock_first;     ///< the first of a queue that nobody else has in hand
extern const prepared lock_small;     ///< the same, of those that are small
extern const prepared lock_to_take;   ///< the first of a queue that nobody else has in hand
extern const prepared find_job;       ///< one job
extern const prepared list_jobs;      ///< of one state, behind a place
extern const prepared oldest_jobs;    ///< the first of each rank
extern const prepared oldest_of_page; ///< the same of each queue of queues_page
extern const prepared lock_purged;    ///< not in progress, behind a place, with ids below $5
extern const prepared tokens_known;   ///< of one queue
extern const prepared insert_jobs;    ///< those whose keys are free
extern const prepared update_jobs;
extern const prepared delete_jobs;      ///< and their keys
extern const prepared hold_keys;        ///< of jobs that are not dead any more, unless held
extern const prepared free_keys;        ///< of jobs that are dead now
extern const prepared count_duplicates; ///< of keys that are held
extern const prepared insert_tokens;    ///< unless they hold
extern const prepared count_tokens;     ///< up to $2 that end before $1, the last first
extern const prepared trim_tokens;      ///< up to $2 of those that end by $1
extern const prepared save_queue;
extern const prepared add_counts;
extern const prepared lock_schema; ///< makers of queues take turns
extern const prepared count_queues;
extern const prepared lock_unused; ///< a queue without jobs that is set to nothing
extern const prepared lock_counts;
extern const prepared still_unused;
extern const prepared drop_tokens;
extern const prepared drop_counts;
extern const prepared drop_queue;
extern const prepared make_queue;
extern const prepared have_jobs;    ///< of the queues named, those with jobs to be taken
extern const prepared next_due_job; ///< what ends first, and the name of its queue
extern const prepared notify;

/// All of them but `notify`, which not every engine takes.
[[nodiscard]] std::span<const prepared* const> statements() noexcept;

} // namespace sql

/// Sets a new connection to what the plans of the statements count on, where the engine knows it.
rota::task<void> set_up_session(postgres_connection* on);

/// Prepares all of sql::statements() on a connection to a schema of that version.
rota::task<void> prepare_statements(postgres_connection* on);

} // namespace jobs
