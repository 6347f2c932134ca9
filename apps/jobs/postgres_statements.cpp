#include "postgres_schema.hpp"

#include <array>
#include <vector>

// Every statement of the store. Only SQL that distributed engines with the same protocol take, too:
// no functions of our own, no advisory locks, no table changed twice in one statement.
//
// Transactions wait for rows in one order only, so that they do not wait for each other: queues,
// then jobs (of queues by name, then by id), then keys by digest, then tokens, then counts. Who
// looks for work waits for nobody: SKIP LOCKED. Where the order cannot be kept the server finds
// out, and the transaction is run again.

namespace jobs {
namespace sql {

const prepared begin{"begin", "BEGIN"};
const prepared commit{"commit", "COMMIT"};

#define QUEUE "(SELECT number FROM rota_queues WHERE name = $1::text)"
// Of jobs that are named. Unlike = it uses no index: of a plan that is made once for all queues
// nobody knows how many jobs they have, so it must not begin with all of one.
#define IN_QUEUE "j.queue IS NOT DISTINCT FROM " QUEUE
#define JOB                                                                                        \
    "j.queue, j.id, j.state, j.rank, j.attempts, j.duplicates, j.added_at, j.since, j.due, "       \
    "j.queued_ms, j.in_progress_ms, j.lease, j.digest"
#define NO_TEXTS ", NULL::bytea, NULL::bytea, NULL::bytea"
#define TEXTS ", j.key, j.payload, j.error"

const prepared any_due{"any_due", "SELECT due FROM rota_jobs WHERE due > 0 AND due < $1::bigint "
                                  "ORDER BY due LIMIT 1"};
const prepared lock_due{"lock_due", "SELECT " JOB NO_TEXTS ", q.name FROM rota_jobs j "
                                    "JOIN rota_queues q ON q.number = j.queue "
                                    "WHERE j.due > 0 AND j.due < $1::bigint "
                                    "ORDER BY j.due, j.id LIMIT $2::bigint "
                                    "FOR UPDATE OF j SKIP LOCKED"};
const prepared next_due{"next_due", "SELECT " JOB NO_TEXTS " FROM rota_jobs j WHERE j.due > 0 "
                                    "AND j.due >= $1::bigint ORDER BY j.due, j.id LIMIT 1"};

#define QUEUE_COLUMNS                                                                              \
    "q.number, q.name, q.max_jobs, q.max_attempts, q.lease_ms, q.payload_bytes_max, q.paused"
#define COUNTED_QUEUES                                                                             \
    "SELECT " QUEUE_COLUMNS                                                                        \
    ", coalesce(sum(c.queued), 0)::bigint, coalesce(sum(c.delayed), 0)::bigint, "                  \
    "coalesce(sum(c.in_progress), 0)::bigint, coalesce(sum(c.dead), 0)::bigint, "                  \
    "coalesce(sum(c.added), 0)::bigint, coalesce(sum(c.completed), 0)::bigint, "                   \
    "coalesce(sum(c.failures), 0)::bigint, coalesce(sum(c.expired), 0)::bigint, "                  \
    "coalesce(sum(c.duplicates), 0)::bigint, coalesce(sum(c.queued_ms), 0)::bigint, "              \
    "coalesce(sum(c.in_progress_ms), 0)::bigint "                                                  \
    "FROM rota_queues q LEFT JOIN rota_counts c ON c.queue = q.number "
#define QUEUE_GROUPS " GROUP BY " QUEUE_COLUMNS

const prepared queues_named{"queues_named", "SELECT " QUEUE_COLUMNS " FROM rota_queues q "
                                            "WHERE q.name = ANY($1::text[])"};
const prepared queues_counted{"queues_counted",
                              COUNTED_QUEUES "WHERE q.name = ANY($1::text[])" QUEUE_GROUPS};
const prepared queues_all{"queues_all", COUNTED_QUEUES QUEUE_GROUPS};
const prepared lock_queue{"lock_queue",
                          "SELECT number FROM rota_queues WHERE name = $1::text FOR UPDATE"};
const prepared new_ids{"new_ids", "SELECT nextval('rota_job_ids') "
                                  "FROM generate_series(1, $1::bigint)"};
const prepared lock_digests{"lock_digests",
                            "SELECT " JOB NO_TEXTS " FROM rota_jobs j WHERE " IN_QUEUE
                            " AND j.digest = ANY($2::bytea[]) AND j.state < 3 "
                            "ORDER BY j.id FOR UPDATE OF j"};
const prepared lock_leases{"lock_leases", "SELECT " JOB NO_TEXTS " FROM rota_jobs j WHERE " IN_QUEUE
                                          " AND j.lease = ANY($2::bytea[]) AND j.lease IS NOT NULL "
                                          "ORDER BY j.id FOR UPDATE OF j"};
const prepared lock_ids{"lock_ids",
                        "SELECT " JOB TEXTS " FROM rota_jobs j WHERE " IN_QUEUE
                        " AND (j.id = $2::bigint OR (j.state < 3 AND j.digest = (SELECT digest "
                        "FROM rota_jobs WHERE id = $2::bigint AND state = 3))) "
                        "ORDER BY j.id FOR UPDATE OF j"};
// As many as are wanted, and no more than whose payloads may be given out ($3).
const prepared lock_first{
    "lock_first",
    "WITH first AS (SELECT " JOB TEXTS " FROM rota_jobs j "
    "WHERE j.queue = (SELECT number FROM rota_queues WHERE name = $1::text AND paused = 0) "
    "AND j.state = 0 ORDER BY j.rank, j.id LIMIT $2::bigint FOR UPDATE OF j SKIP LOCKED) "
    "SELECT " JOB TEXTS " FROM (SELECT f.*, sum(octet_length(f.payload)) OVER "
    "(ORDER BY f.rank, f.id) - octet_length(f.payload) AS before FROM first f) j "
    "WHERE j.before <= $3::bigint ORDER BY j.rank, j.id"};
const prepared find_job{"find_job", "SELECT " JOB TEXTS " FROM rota_jobs j WHERE " IN_QUEUE
                                    " AND j.id = $2::bigint"};
// One row more than the payloads allow ($6), so that it can be told that there are more.
const prepared list_jobs{
    "list_jobs",
    "SELECT " JOB TEXTS " FROM (SELECT f.*, coalesce(sum(octet_length(f.payload)) OVER "
    "(ORDER BY f.rank, f.id ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING), 0) AS before "
    "FROM (SELECT " JOB TEXTS " FROM rota_jobs j WHERE j.queue = " QUEUE
    " AND j.state = $2::bigint AND (j.rank, j.id) > ($3::bigint, $4::bigint) "
    "ORDER BY j.rank, j.id LIMIT $5::bigint) f) j "
    "WHERE j.before <= $6::bigint ORDER BY j.rank, j.id"};
const prepared oldest_jobs{
    "oldest_jobs", "SELECT " JOB NO_TEXTS " FROM generate_series(0, 9) r CROSS JOIN LATERAL "
                   "(SELECT * FROM rota_jobs f WHERE f.queue = " QUEUE
                   " AND f.state = 0 AND f.rank = r ORDER BY f.id LIMIT 1) j"};
const prepared oldest_of_all{
    "oldest_of_all",
    "SELECT " JOB NO_TEXTS " FROM rota_queues q CROSS JOIN generate_series(0, 9) r "
    "CROSS JOIN LATERAL (SELECT * FROM rota_jobs f WHERE f.queue = q.number "
    "AND f.state = 0 AND f.rank = r ORDER BY f.id LIMIT 1) j"};
const prepared purge_jobs{
    "purge_jobs", "WITH gone AS (DELETE FROM rota_jobs WHERE id IN (SELECT id FROM rota_jobs "
                  "WHERE queue = " QUEUE " AND state IN (0, 1, 3) ORDER BY id FOR UPDATE) "
                  "RETURNING state) SELECT state, count(*) FROM gone GROUP BY state"};
const prepared tokens_known{
    "tokens_known", "SELECT t.queue, t.token, t.fingerprint, t.id, t.expires_at "
                    "FROM rota_tokens t WHERE t.queue = " QUEUE " AND t.token = ANY($2::bytea[])"};

const prepared insert_jobs{
    "insert_jobs",
    "INSERT INTO rota_jobs (queue, id, state, rank, attempts, duplicates, added_at, since, due, "
    "queued_ms, in_progress_ms, digest, key, payload) "
    "SELECT n.queue, n.id, n.state, n.rank, 0, n.duplicates, n.added_at, n.added_at, n.due, 0, 0, "
    "n.digest, n.key, n.payload FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], "
    "$4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bytea[], $9::bytea[], "
    "$10::bytea[]) AS n (queue, id, state, rank, duplicates, added_at, due, digest, key, payload) "
    "ON CONFLICT (queue, digest) WHERE state < 3 DO NOTHING"};
const prepared update_jobs{
    "update_jobs",
    "UPDATE rota_jobs j SET state = n.state, attempts = n.attempts, duplicates = n.duplicates, "
    "since = n.since, due = n.due, queued_ms = n.queued_ms, in_progress_ms = n.in_progress_ms, "
    "lease = CASE WHEN n.lease IS NULL THEN j.lease WHEN n.lease = ''::bytea THEN NULL "
    "ELSE n.lease END, error = coalesce(n.error, j.error) "
    "FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], "
    "$6::bigint[], $7::bigint[], $8::bigint[], $9::bytea[], $10::bytea[]) "
    "AS n (id, state, attempts, duplicates, since, due, queued_ms, in_progress_ms, lease, error) "
    "WHERE j.id = n.id"};
const prepared delete_jobs{"delete_jobs", "DELETE FROM rota_jobs WHERE id = ANY($1::bigint[])"};
const prepared insert_tokens{
    "insert_tokens",
    "INSERT INTO rota_tokens (queue, token, fingerprint, id, expires_at) "
    "SELECT n.queue, n.token, n.fingerprint, n.id, n.expires_at FROM unnest($1::bigint[], "
    "$2::bytea[], $3::bigint[], $4::bigint[], $5::bigint[]) "
    "AS n (queue, token, fingerprint, id, expires_at) "
    "ON CONFLICT (queue, token) DO UPDATE SET fingerprint = excluded.fingerprint, "
    "id = excluded.id, expires_at = excluded.expires_at WHERE rota_tokens.expires_at <= "
    "$6::bigint"};
const prepared trim_tokens{
    "trim_tokens", "DELETE FROM rota_tokens WHERE (queue, token) IN (SELECT queue, token "
                   "FROM rota_tokens WHERE expires_at <= $1::bigint OR (queue, token) IN "
                   "(SELECT queue, token FROM rota_tokens ORDER BY expires_at DESC, id DESC "
                   "OFFSET $2::bigint) ORDER BY queue, token FOR UPDATE SKIP LOCKED)"};
const prepared save_queue{"save_queue", "UPDATE rota_queues SET max_jobs = $2::bigint, "
                                        "max_attempts = $3::bigint, lease_ms = $4::bigint, "
                                        "payload_bytes_max = $5::bigint, paused = $6::bigint "
                                        "WHERE number = $1::bigint"};
const prepared add_counts{
    "add_counts",
    "INSERT INTO rota_counts (queue, shard, queued, delayed, in_progress, dead, added, completed, "
    "failures, expired, duplicates, queued_ms, in_progress_ms) VALUES ($1::bigint, $2::bigint, "
    "$3::bigint, $4::bigint, $5::bigint, $6::bigint, $7::bigint, $8::bigint, $9::bigint, "
    "$10::bigint, $11::bigint, $12::bigint, $13::bigint) ON CONFLICT (queue, shard) DO UPDATE SET "
    "queued = rota_counts.queued + excluded.queued, "
    "delayed = rota_counts.delayed + excluded.delayed, "
    "in_progress = rota_counts.in_progress + excluded.in_progress, "
    "dead = rota_counts.dead + excluded.dead, added = rota_counts.added + excluded.added, "
    "completed = rota_counts.completed + excluded.completed, "
    "failures = rota_counts.failures + excluded.failures, "
    "expired = rota_counts.expired + excluded.expired, "
    "duplicates = rota_counts.duplicates + excluded.duplicates, "
    "queued_ms = rota_counts.queued_ms + excluded.queued_ms, "
    "in_progress_ms = rota_counts.in_progress_ms + excluded.in_progress_ms"};

const prepared lock_schema{"lock_schema",
                           "SELECT version FROM rota_schema WHERE one = 1 FOR UPDATE"};
const prepared count_queues{"count_queues", "SELECT count(*) FROM rota_queues"};
const prepared lock_unused{"lock_unused",
                           "SELECT q.number FROM rota_queues q WHERE q.max_jobs = 0 AND "
                           "q.max_attempts = 0 AND q.lease_ms = 0 AND q.payload_bytes_max = 0 AND "
                           "q.paused = 0 AND NOT EXISTS (SELECT 1 FROM rota_jobs j WHERE "
                           "j.queue = q.number) ORDER BY q.name LIMIT 1 FOR UPDATE OF q"};
const prepared lock_counts{
    "lock_counts",
    "SELECT shard FROM rota_counts WHERE queue = $1::bigint ORDER BY shard FOR UPDATE"};
const prepared still_unused{"still_unused", "SELECT 1::bigint WHERE NOT EXISTS (SELECT 1 FROM "
                                            "rota_jobs WHERE queue = $1::bigint)"};
const prepared drop_tokens{"drop_tokens", "DELETE FROM rota_tokens WHERE queue = $1::bigint"};
const prepared drop_counts{"drop_counts", "DELETE FROM rota_counts WHERE queue = $1::bigint"};
const prepared drop_queue{"drop_queue", "DELETE FROM rota_queues WHERE number = $1::bigint"};
const prepared make_queue{"make_queue", "INSERT INTO rota_queues (number, name) VALUES "
                                        "(nextval('rota_queue_numbers'), $1::text) "
                                        "ON CONFLICT (name) DO NOTHING"};
const prepared have_jobs{"have_jobs",
                         "SELECT q.name FROM rota_queues q WHERE q.name = ANY($1::text[]) AND "
                         "q.paused = 0 AND EXISTS (SELECT 1 FROM rota_jobs j WHERE "
                         "j.queue = q.number AND j.state = 0)"};
const prepared next_due_job{"next_due_job",
                            "SELECT q.name, j.due FROM rota_jobs j JOIN rota_queues q ON "
                            "q.number = j.queue WHERE j.due > 0 ORDER BY j.due, j.id LIMIT 1"};
const prepared notify{"notify", "SELECT pg_notify($1::text, $2::text)"};

#undef QUEUE
#undef IN_QUEUE
#undef JOB
#undef NO_TEXTS
#undef TEXTS
#undef QUEUE_COLUMNS
#undef COUNTED_QUEUES
#undef QUEUE_GROUPS

} // namespace sql

rota::task<void> prepare_statements(postgres_connection* on) {
    for (const sql::prepared* each :
         {&sql::begin,        &sql::commit,        &sql::any_due,        &sql::lock_due,
          &sql::next_due,     &sql::queues_named,  &sql::queues_counted, &sql::queues_all,
          &sql::lock_queue,   &sql::new_ids,       &sql::lock_digests,   &sql::lock_leases,
          &sql::lock_ids,     &sql::lock_first,    &sql::find_job,       &sql::list_jobs,
          &sql::oldest_jobs,  &sql::oldest_of_all, &sql::purge_jobs,     &sql::tokens_known,
          &sql::insert_jobs,  &sql::update_jobs,   &sql::delete_jobs,    &sql::insert_tokens,
          &sql::trim_tokens,  &sql::save_queue,    &sql::add_counts,     &sql::lock_schema,
          &sql::count_queues, &sql::lock_unused,   &sql::lock_counts,    &sql::still_unused,
          &sql::drop_tokens,  &sql::drop_counts,   &sql::drop_queue,     &sql::make_queue,
          &sql::have_jobs,    &sql::next_due_job})
        on->prepare(each->name, each->text);
    rota::task<std::vector<postgres_result>> preparing = on->sync();
    const std::vector<postgres_result> prepared = co_await std::move(preparing);
    require_ok(prepared);
}

} // namespace jobs
