#include "statements.hpp"

#include <array>
#include <vector>

// Every statement of the store. Only SQL that distributed engines with the same protocol take, too:
// no functions of our own, no advisory locks, no table changed twice in one statement.
//
// Transactions wait for rows in one order only, so that they do not wait for each other in a
// circle:
// 1. queues, by name. What refers to a queue is not locked out: a new row of counts looks at its
//    queue's last. One that is removed goes when nothing else is left to be waited for;
// 2. jobs: of queues by name, then by rank and id, which never change, whatever their states;
// 3. new keys, then tokens, then keys that are there. Keys by digest, in one statement: that is the
//    order of their index, too, so it is kept whichever side of a join the server goes along;
// 4. counts, by the numbers of their queues, then by shard.
// Tokens of a queue that is gone are dropped after its transaction: an addition that waits for the
// counts may hold them. What looks for work, for what is due, or for a slice to remove waits for
// nothing: SKIP LOCKED. So what may be taken is locked only by what changes it, else it would be
// passed over. One step cannot keep the order: an addition that ends a lease frees a key before it
// adds others. There the server finds out, and the transaction is run again.

namespace jobs {
namespace sql {

const prepared begin{"begin", "BEGIN"};
const prepared commit{"commit", "COMMIT"};
const prepared roll_back{"roll_back", "ROLLBACK"};

// The server looks whether it may be done, and whether changes are taken at all, before it finds
// that there is nothing to do.
const prepared add_nothing{
    "add_nothing", "WITH new_keys AS (INSERT INTO rota_keys SELECT * FROM rota_keys WHERE false), "
                   "new_counts AS (INSERT INTO rota_counts SELECT * FROM rota_counts WHERE false "
                   "ON CONFLICT (queue, shard) DO UPDATE SET queued = excluded.queued) "
                   "INSERT INTO rota_jobs SELECT * FROM rota_jobs WHERE false"};
const prepared add_waste{
    "add_waste",
    "INSERT INTO rota_jobs (id, queue, added_at, since, due, queued_ms, in_progress_ms, attempts, "
    "duplicates, state, rank, digest, key, payload) VALUES ($1::bigint, 0, 0, 0, 0, 0, 0, 0, 0, 3, "
    "0, '', '', ($2::bytea[])[1])"};

#define QUEUE "(SELECT number FROM rota_queues WHERE name = $1::text)"
#define UNPAUSED_QUEUE "(SELECT number FROM rota_queues WHERE name = $1::text AND paused = 0)"
// Of jobs that are named. Unlike = it uses no index: of a plan that is made once for all queues
// nobody knows how many jobs they have, so it must not begin with all of one.
#define IN_QUEUE "j.queue IS NOT DISTINCT FROM " QUEUE
#define FACTS                                                                                      \
    "j.queue, j.id, j.state, j.rank, j.attempts, j.duplicates, j.added_at, j.since, j.due, "       \
    "j.queued_ms, j.in_progress_ms, j.cause, j.token"
#define JOB FACTS ", j.digest"
// Where nobody asks by keys.
#define JOB_TAKEN FACTS ", NULL::bytea AS digest"
// Those that hold keys. As an array: no plan of that begins with all jobs, or all keys.
#define HOLDS(digests)                                                                             \
    "j.id = ANY(ARRAY(SELECT k.id FROM rota_keys k WHERE k.queue = " QUEUE                         \
    " AND k.digest = ANY(" digests "))) AND j.state < 3"
// Those that the rules change by themselves, being over at a time, and the others.
#define OVER_AT(time) " AND j.due > 0 AND j.due < " time
#define NOT_OVER_AT(time) " AND (j.due = 0 OR j.due >= " time ")"
#define NO_TEXTS ", NULL::bytea, NULL::bytea, NULL::bytea"
#define KEY_ONLY ", j.key, NULL::bytea, NULL::bytea"
#define TEXTS ", j.key, j.payload, j.error"
// As JOB, with all duplicates: those of a job that is not dead are counted beside its key.
#define JOB_SHOWN                                                                                  \
    "j.queue, j.id, j.state, j.rank, j.attempts, CASE WHEN j.state < 3 THEN j.duplicates + "       \
    "coalesce((SELECT k.duplicates FROM rota_keys k WHERE k.digest = j.digest AND "                \
    "k.queue = j.queue AND k.id = j.id), 0) ELSE j.duplicates END, j.added_at, j.since, j.due, "   \
    "j.queued_ms, j.in_progress_ms, j.cause, j.token, j.digest"

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
    "q.number, q.name, q.max_jobs, q.max_attempts, q.lease_ms, q.payload_bytes_max, q.paused, "    \
    "q.backoff_after, q.backoff_initial_ms, q.backoff_factor_milli, q.backoff_max_ms"
#define COUNTED_QUEUES                                                                             \
    "SELECT " QUEUE_COLUMNS                                                                        \
    ", coalesce(sum(c.queued), 0)::bigint, coalesce(sum(c.delayed), 0)::bigint, "                  \
    "coalesce(sum(c.in_progress), 0)::bigint, coalesce(sum(c.dead), 0)::bigint, "                  \
    "coalesce(sum(c.added), 0)::bigint, coalesce(sum(c.completed), 0)::bigint, "                   \
    "coalesce(sum(c.failures), 0)::bigint, coalesce(sum(c.expired), 0)::bigint, "                  \
    "coalesce(sum(c.duplicates), 0)::bigint, coalesce(sum(c.queued_ms), 0)::bigint, "              \
    "coalesce(sum(c.in_progress_ms), 0)::bigint "                                                  \
    "FROM "
#define COUNTS_OF_THEM " q LEFT JOIN rota_counts c ON c.queue = q.number "
#define QUEUE_GROUPS " GROUP BY " QUEUE_COLUMNS
// Up to $2 queues behind one. By the bytes of their names, as this program has them, whatever the
// order of texts is in the database; there are few enough of them to be sorted.
#define PAGE_OF_QUEUES                                                                             \
    "(SELECT * FROM rota_queues WHERE convert_to(name, 'UTF8') > convert_to($1::text, 'UTF8') "    \
    "ORDER BY convert_to(name, 'UTF8') LIMIT $2::bigint)"

const prepared queues_named{"queues_named", "SELECT " QUEUE_COLUMNS " FROM rota_queues q "
                                            "WHERE q.name = ANY($1::text[])"};
const prepared queues_counted{"queues_counted",
                              COUNTED_QUEUES "rota_queues" COUNTS_OF_THEM
                                             "WHERE q.name = ANY($1::text[])" QUEUE_GROUPS};
const prepared queues_page{"queues_page",
                           COUNTED_QUEUES PAGE_OF_QUEUES COUNTS_OF_THEM QUEUE_GROUPS};
const prepared lock_queue{"lock_queue",
                          "SELECT number FROM rota_queues WHERE name = $1::text FOR NO KEY UPDATE"};
const prepared new_ids{"new_ids", "SELECT nextval('rota_job_ids') "
                                  "FROM generate_series(1, $1::bigint)"};
const prepared lock_over{"lock_over",
                         "SELECT " JOB NO_TEXTS " FROM rota_jobs j WHERE " HOLDS("$2::bytea[]")
                             OVER_AT("$3::bigint") " ORDER BY j.rank, j.id FOR UPDATE OF j"};
const prepared find_digests{"find_digests", "SELECT " JOB NO_TEXTS " FROM rota_jobs j WHERE " HOLDS(
                                                "$2::bytea[]") NOT_OVER_AT("$3::bigint")};
// Those with ids $2, and those with leases $3 that an earlier version has made. In progress, or, by
// $4, also those that are about to be: whatever takes them is waited for.
const prepared lock_leases{
    "lock_leases", "SELECT " JOB NO_TEXTS " FROM rota_jobs j WHERE " IN_QUEUE
                   " AND j.id = ANY($2::bigint[] || ARRAY(SELECT o.id FROM rota_jobs o "
                   "WHERE o.token = ANY($3::bytea[]) AND octet_length(o.token) = 32)) "
                   "AND (j.state = 2 OR $4::bigint = 1) ORDER BY j.rank, j.id FOR UPDATE OF j"};
const prepared lock_id{"lock_id", "SELECT " JOB NO_TEXTS " FROM rota_jobs j WHERE " IN_QUEUE
                                  " AND j.id = $2::bigint FOR UPDATE OF j"};
const prepared find_digest{"find_digest", "SELECT " JOB_SHOWN TEXTS
                                          " FROM rota_jobs j WHERE " HOLDS("$2::bytea[]")};
const prepared find_dead_digest{"find_dead_digest",
                                "SELECT " JOB TEXTS " FROM rota_jobs j WHERE j.queue = " QUEUE
                                " AND j.digest = ($2::bytea[])[1] AND j.state = 3 "
                                "ORDER BY j.id DESC LIMIT $3::bigint"};
#define JOBS_UP_TO(limit)                                                                          \
    "SELECT count(*)::bigint FROM (SELECT 1 FROM rota_jobs j WHERE j.queue = " QUEUE               \
    " LIMIT " limit ") slice"
// As an array, as in HOLDS.
const prepared lock_keys_of{"lock_keys_of",
                            "SELECT k.id FROM rota_keys k WHERE k.queue = " QUEUE
                            " AND k.digest = ANY(ARRAY(SELECT j.digest FROM rota_jobs j WHERE "
                            "j.queue = " QUEUE " ORDER BY j.state, j.rank, j.id LIMIT $2::bigint)) "
                            "AND (" JOBS_UP_TO("$2::bigint") ") < $2::bigint "
                                                             "ORDER BY k.digest FOR UPDATE OF k"};
const prepared lock_counts_of{"lock_counts_of",
                              "SELECT c.shard FROM rota_counts c WHERE c.queue = " QUEUE
                              " AND (" JOBS_UP_TO("$2::bigint") ") < $2::bigint "
                                                                "ORDER BY c.shard FOR UPDATE OF c"};
const prepared count_slice{"count_slice",
                           "SELECT (" JOBS_UP_TO("$2::bigint + 1") "), (SELECT count(*)::bigint "
                                                                   "FROM rota_counts c WHERE "
                                                                   "c.queue = " QUEUE ")"};
#undef JOBS_UP_TO
const prepared lock_slice{"lock_slice",
                          "SELECT " JOB NO_TEXTS " FROM rota_jobs j WHERE j.queue = " QUEUE
                          " ORDER BY j.state, j.rank, j.id LIMIT $2::bigint "
                          "FOR UPDATE OF j SKIP LOCKED"};
// A slice of the dead, which come last, and what holds the keys of those: the second is for
// reviving. With "state = 3" the index of dead keys would fit, too, which is in another order.
#define DEAD_SLICE(of)                                                                             \
    " WHERE " of ".queue = " QUEUE " AND (" of ".state, " of ".rank, " of                          \
    ".id) > (3, $2::bigint, $3::bigint) ORDER BY " of ".state, " of ".rank, " of                   \
    ".id LIMIT $4::bigint"
// By the primary key. With "state = 3" PostgreSQL 17 takes the index of dead keys and walks it to
// its end, since all of its rows fit that condition.
#define DEAD_NAMED(of) " WHERE " of ".id = ANY($2::bigint[]) AND " of ".state > 2"
#define HOLDERS(dead, time)                                                                        \
    "SELECT " JOB KEY_ONLY                                                                         \
    " FROM rota_jobs j WHERE " HOLDS("ARRAY(SELECT d.digest FROM rota_jobs d" dead ")")            \
        NOT_OVER_AT(time)
const prepared lock_dead{"lock_dead", "SELECT " JOB KEY_ONLY
                                      " FROM rota_jobs j" DEAD_SLICE("j") " FOR UPDATE OF j"};
const prepared find_holders{"find_holders", HOLDERS(DEAD_SLICE("d"), "$5::bigint")};
const prepared lock_dead_named{"lock_dead_named",
                               "SELECT " JOB KEY_ONLY " FROM rota_jobs j" DEAD_NAMED(
                                   "j") " AND " IN_QUEUE " ORDER BY j.rank, j.id FOR UPDATE OF j"};
const prepared find_holders_named{"find_holders_named", HOLDERS(DEAD_NAMED("d"), "$3::bigint")};
// For takers that want one each, which any may be given.
const prepared lock_first{"lock_first", "SELECT " JOB_TAKEN TEXTS " FROM rota_jobs j "
                                        "WHERE j.queue = " UNPAUSED_QUEUE " AND j.state = 0 "
                                        "ORDER BY j.rank, j.id LIMIT $2::bigint "
                                        "FOR UPDATE OF j SKIP LOCKED"};
#define WANTED "unnest($2::bigint[]) AS w(max)"
#define FIRST_UP_TO(limit)                                                                         \
    "first AS (SELECT " JOB_TAKEN TEXTS " FROM rota_jobs j WHERE j.queue = " UNPAUSED_QUEUE        \
    " AND j.state = 0 ORDER BY j.rank, j.id LIMIT (" limit ") FOR UPDATE OF j SKIP LOCKED) "
// Of those: as many as may be given.
#define ALL_BYTES "$3::bigint * array_length($2::bigint[], 1)"
#define GIVEN                                                                                      \
    "SELECT " JOB TEXTS " FROM first j WHERE CASE WHEN (SELECT sum(octet_length(f.payload)) "      \
    "FROM first f) <= " ALL_BYTES " THEN true ELSE j.id = ANY(ARRAY(SELECT c.id FROM "             \
    "(SELECT f.id, sum(octet_length(f.payload)) OVER (ORDER BY f.rank, f.id) - "                   \
    "octet_length(f.payload) AS before FROM first f) c WHERE c.before <= " ALL_BYTES ")) END"
// For takers that want up to $2 each, whose payloads may add up to $3 each: no more is locked than
// they are given, since others pass over what is. Sizes never change, so they are looked at before:
// so many jobs that as many of the largest would fit, too. Others may have the first ones in hand:
// twice as many as are wanted are looked at. Should those behind be larger, not all are given.
const prepared lock_to_take{
    "lock_to_take",
    "WITH sizes AS (SELECT j.id, octet_length(j.payload) AS size FROM rota_jobs j "
    "WHERE j.queue = " QUEUE " AND j.state = 0 ORDER BY j.rank, j.id "
    "LIMIT (SELECT 2 * sum(w.max)::bigint FROM " WANTED ")), "
    "fitting AS (SELECT greatest(count(*), 1) AS jobs FROM (SELECT sum(s.size) OVER "
    "(ORDER BY s.size DESC, s.id) AS bytes FROM sizes s) l WHERE l.bytes <= "
    "$3::bigint), " FIRST_UP_TO("SELECT sum(least(w.max, f.jobs))::bigint FROM " WANTED
                                " CROSS JOIN fitting f") GIVEN};
// The same where the last ones were so small that so many of them fit, a third of the work.
const prepared lock_small{"lock_small",
                          "WITH " FIRST_UP_TO("SELECT sum(w.max)::bigint FROM " WANTED) GIVEN};
#undef WANTED
#undef FIRST_UP_TO
#undef ALL_BYTES
#undef GIVEN
const prepared find_job{"find_job", "SELECT " JOB_SHOWN TEXTS " FROM rota_jobs j WHERE " IN_QUEUE
                                    " AND j.id = $2::bigint"};
// One row more than the payloads allow ($6), so that it can be told that there are more.
const prepared list_jobs{
    "list_jobs",
    "SELECT " JOB_SHOWN TEXTS " FROM (SELECT f.*, coalesce(sum(octet_length(f.payload)) OVER "
    "(ORDER BY f.rank, f.id ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING), 0) AS before "
    "FROM (SELECT " JOB TEXTS " FROM rota_jobs j WHERE j.queue = " QUEUE
    " AND j.state = $2::bigint AND (j.rank, j.id) > ($3::bigint, $4::bigint) "
    "ORDER BY j.rank, j.id LIMIT $5::bigint) f) j "
    "WHERE j.before <= $6::bigint ORDER BY j.rank, j.id"};
// The first of each rank, from one to the next that has any: a step of the index rota_jobs_order
// each. To order by a column that is the same for all (WHERE rank = 9 ORDER BY id) lets the server
// take the order of another index, and walk that to its end where there is no such job.
#define FIRST_OF(queue, behind)                                                                    \
    "SELECT " JOB " FROM rota_jobs j WHERE j.queue = " queue " AND j.state = 0" behind             \
    " ORDER BY j.rank, j.id LIMIT 1"
#define FIRST_OF_EACH_RANK(from_first)                                                             \
    "WITH RECURSIVE oldest AS (" from_first " UNION ALL SELECT n.* FROM oldest o "                 \
    "CROSS JOIN LATERAL (" FIRST_OF("o.queue", " AND j.rank > o.rank") ") n) "                     \
                                                                       "SELECT " JOB NO_TEXTS      \
                                                                       " FROM oldest j"
const prepared oldest_jobs{"oldest_jobs", FIRST_OF_EACH_RANK("(" FIRST_OF(QUEUE, "") ")")};
const prepared oldest_of_page{"oldest_of_page",
                              FIRST_OF_EACH_RANK("SELECT f.* FROM " PAGE_OF_QUEUES " q CROSS JOIN "
                                                 "LATERAL (" FIRST_OF("q.number", "") ") f")};
// Those that were there before $5: what is added meanwhile has a greater id. From a place on, and
// of the dead from another, so that those in progress are not walked over.
#define PURGED_FROM(place)                                                                         \
    "SELECT o.id FROM rota_jobs o WHERE o.queue = " QUEUE " AND (o.state, o.rank, o.id) > " place  \
    " AND o.id < $5::bigint"
#define PURGED_SLICE " ORDER BY o.state, o.rank, o.id LIMIT $6::bigint"
#define PURGED_LIVE                                                                                \
    PURGED_FROM("($2::bigint, $3::bigint, $4::bigint)") " AND o.state < 2" PURGED_SLICE
#define PURGED_DEAD PURGED_FROM("(3, $7::bigint, $8::bigint)") PURGED_SLICE
const prepared lock_purged{
    "lock_purged",
    "SELECT " JOB NO_TEXTS " FROM rota_jobs j WHERE j.id = ANY(ARRAY((" PURGED_LIVE ") UNION ALL "
    "(" PURGED_DEAD "))) AND j.state <> 2 ORDER BY j.rank, j.id FOR UPDATE OF j"};
#undef PURGED_LIVE
#undef PURGED_DEAD
#undef PURGED_FROM
#undef PURGED_SLICE
const prepared tokens_known{
    "tokens_known", "SELECT t.queue, t.token, t.fingerprint, t.id, t.expires_at "
                    "FROM rota_tokens t WHERE t.queue = " QUEUE " AND t.token = ANY($2::bytea[])"};

const prepared insert_jobs{
    "insert_jobs",
    "WITH n AS (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], "
    "$5::bigint[], $6::bigint[], $7::bigint[], $8::bytea[], $9::bytea[], $10::bytea[]) "
    "AS n (queue, id, state, rank, duplicates, added_at, due, digest, key, payload)), "
    "free AS (INSERT INTO rota_keys (queue, digest, id) SELECT n.queue, n.digest, n.id FROM n "
    "ON CONFLICT (digest, queue) DO NOTHING RETURNING id) "
    "INSERT INTO rota_jobs (queue, id, state, rank, attempts, duplicates, added_at, since, due, "
    "queued_ms, in_progress_ms, digest, key, payload) "
    "SELECT n.queue, n.id, n.state, n.rank, 0, n.duplicates, n.added_at, n.added_at, n.due, 0, 0, "
    "n.digest, n.key, n.payload FROM n JOIN free ON free.id = n.id"};
const prepared update_jobs{
    "update_jobs",
    "UPDATE rota_jobs j SET state = n.state, attempts = n.attempts, "
    "since = n.since, due = n.due, queued_ms = n.queued_ms, in_progress_ms = n.in_progress_ms, "
    "cause = n.cause, token = CASE WHEN n.token IS NULL THEN j.token WHEN n.token = ''::bytea THEN "
    "NULL ELSE n.token END, error = coalesce(n.error, j.error) "
    "FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], "
    "$6::bigint[], $7::bigint[], $8::bigint[], $9::bytea[], $10::bytea[]) "
    "AS n (id, state, attempts, since, due, queued_ms, in_progress_ms, cause, token, "
    "error) "
    "WHERE j.id = n.id"};
// What holds the keys of some jobs that were dead, or were not, is set right. Those that are gone
// in the same transaction may be among the second.
const prepared hold_keys{"hold_keys",
                         "INSERT INTO rota_keys (queue, digest, id) SELECT j.queue, j.digest, j.id "
                         "FROM rota_jobs j WHERE j.id = ANY($1::bigint[]) ORDER BY j.digest "
                         "ON CONFLICT (digest, queue) DO NOTHING"};
#define KEYS_OF(jobs)                                                                              \
    "DELETE FROM rota_keys k USING (SELECT id, queue, digest FROM " jobs                           \
    " ORDER BY digest, queue) j WHERE k.digest = j.digest AND k.queue = j.queue AND k.id = j.id"
#define KEYS_OF_DIED KEYS_OF("rota_jobs WHERE id = ANY($1::bigint[])")
const prepared free_keys{"free_keys",
                         "WITH free AS (" KEYS_OF_DIED " RETURNING k.id, k.duplicates) "
                         "UPDATE rota_jobs j SET duplicates = j.duplicates + f.duplicates "
                         "FROM free f WHERE j.id = f.id AND f.duplicates > 0"};
#undef KEYS_OF_DIED
const prepared count_duplicates{
    "count_duplicates",
    "UPDATE rota_keys k SET duplicates = k.duplicates + n.more FROM unnest($1::bigint[], "
    "$2::bytea[], $3::bigint[], $4::bigint[]) AS n (queue, digest, id, more) "
    "WHERE k.digest = n.digest AND k.queue = n.queue AND k.id = n.id"};
const prepared delete_jobs{"delete_jobs",
                           "WITH gone AS (DELETE FROM rota_jobs WHERE id = ANY($1::bigint[]) "
                           "RETURNING queue, digest, id, state) " KEYS_OF("gone WHERE state < 3")};
const prepared insert_tokens{
    "insert_tokens",
    "INSERT INTO rota_tokens (queue, token, fingerprint, id, expires_at) "
    "SELECT n.queue, n.token, n.fingerprint, n.id, n.expires_at FROM unnest($1::bigint[], "
    "$2::bytea[], $3::bigint[], $4::bigint[], $5::bigint[]) "
    "AS n (queue, token, fingerprint, id, expires_at) "
    "ON CONFLICT (queue, token) DO UPDATE SET fingerprint = excluded.fingerprint, "
    "id = excluded.id, expires_at = excluded.expires_at WHERE rota_tokens.expires_at <= "
    "$6::bigint"};
// How many there are, and when the first of them ends (token_walk).
const prepared count_tokens{
    "count_tokens", "SELECT count(*)::bigint, coalesce(min(k.expires_at), 0)::bigint FROM "
                    "(SELECT t.expires_at FROM rota_tokens t WHERE t.expires_at < $1::bigint "
                    "ORDER BY t.expires_at DESC LIMIT $2::bigint) k"};
const prepared trim_tokens{
    "trim_tokens",
    "DELETE FROM rota_tokens WHERE (queue, token) IN (SELECT t.queue, t.token FROM rota_tokens t "
    "WHERE t.expires_at <= $1::bigint ORDER BY t.expires_at "
    "LIMIT $2::bigint FOR UPDATE SKIP LOCKED)"};
const prepared save_queue{"save_queue", "UPDATE rota_queues SET max_jobs = $2::bigint, "
                                        "max_attempts = $3::bigint, lease_ms = $4::bigint, "
                                        "payload_bytes_max = $5::bigint, paused = $6::bigint, "
                                        "backoff_after = $7::bigint, "
                                        "backoff_initial_ms = $8::bigint, "
                                        "backoff_factor_milli = $9::bigint, "
                                        "backoff_max_ms = $10::bigint "
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
                           "q.paused = 0 AND q.backoff_after = -1 AND q.backoff_initial_ms = -1 "
                           "AND q.backoff_factor_milli = -1 AND q.backoff_max_ms = -1 "
                           "AND NOT EXISTS (SELECT 1 FROM rota_jobs j WHERE "
                           "j.queue = q.number) ORDER BY q.name LIMIT 1 FOR UPDATE OF q"};
const prepared lock_counts{
    "lock_counts",
    "SELECT shard FROM rota_counts WHERE queue = $1::bigint ORDER BY shard FOR UPDATE"};
const prepared still_unused{"still_unused", "SELECT 1::bigint WHERE NOT EXISTS (SELECT 1 FROM "
                                            "rota_jobs WHERE queue = $1::bigint)"};
const prepared drop_tokens{"drop_tokens", "DELETE FROM rota_tokens WHERE queue = $1::bigint"};
// Not those that have been added since they were locked: they keep the queue.
const prepared drop_counts{"drop_counts", "DELETE FROM rota_counts WHERE queue = $1::bigint AND "
                                          "shard = ANY($2::bigint[])"};
const prepared drop_queue{"drop_queue", "DELETE FROM rota_queues WHERE number = $1::bigint"};
const prepared make_queue{"make_queue", "INSERT INTO rota_queues (number, name) VALUES "
                                        "(nextval('rota_queue_numbers'), $1::text) "
                                        "ON CONFLICT (name) DO NOTHING"};
const prepared have_jobs{
    "have_jobs",
    "SELECT q.name FROM rota_queues q CROSS JOIN LATERAL (SELECT j.id FROM rota_jobs j "
    "WHERE j.queue = q.number AND j.state = 0 ORDER BY j.rank, j.id LIMIT 1) first "
    "WHERE q.name = ANY($1::text[]) AND q.paused = 0"};
const prepared next_due_job{"next_due_job",
                            "SELECT q.name, j.due FROM rota_jobs j JOIN rota_queues q ON "
                            "q.number = j.queue WHERE j.due > 0 ORDER BY j.due, j.id LIMIT 1"};
const prepared notify{"notify", "SELECT pg_notify($1::text, $2::text)"};

#undef QUEUE
#undef IN_QUEUE
#undef FACTS
#undef JOB
#undef JOB_TAKEN
#undef HOLDS
#undef OVER_AT
#undef NOT_OVER_AT
#undef JOB_SHOWN
#undef NO_TEXTS
#undef TEXTS
#undef KEY_ONLY
#undef DEAD_SLICE
#undef DEAD_NAMED
#undef HOLDERS
#undef KEYS_OF
#undef QUEUE_COLUMNS
#undef COUNTED_QUEUES
#undef QUEUE_GROUPS
#undef COUNTS_OF_THEM
#undef PAGE_OF_QUEUES
#undef FIRST_OF
#undef FIRST_OF_EACH_RANK

} // namespace sql

namespace {

/// What a session is set to, where the engine knows it: one that is stuck does not hold others up;
/// each statement is planned once, since planning it for its arrays each time costs more than doing
/// it does; and that plan goes by indexes, in their order, though it be made while the tables are
/// small or before they have been counted. None takes so long that compiling it would pay.
constexpr std::array settings{"SET lock_timeout = '10s'",
                              "SET idle_in_transaction_session_timeout = '30s'",
                              "SET plan_cache_mode = force_generic_plan",
                              "SET enable_seqscan = off",
                              "SET enable_bitmapscan = off",
                              "SET jit = off"};

} // namespace

std::span<const sql::prepared* const> sql::statements() noexcept {
    static constexpr std::array all{
        &begin,          &commit,           &any_due,        &roll_back,       &add_nothing,
        &add_waste,      &lock_due,         &next_due,       &queues_named,    &queues_counted,
        &queues_page,    &lock_queue,       &new_ids,        &lock_over,       &lock_leases,
        &lock_id,        &lock_to_take,     &find_job,       &list_jobs,       &oldest_jobs,
        &oldest_of_page, &lock_purged,      &tokens_known,   &insert_jobs,     &update_jobs,
        &delete_jobs,    &insert_tokens,    &trim_tokens,    &save_queue,      &add_counts,
        &lock_schema,    &count_queues,     &lock_unused,    &lock_counts,     &still_unused,
        &drop_tokens,    &drop_counts,      &drop_queue,     &make_queue,      &have_jobs,
        &next_due_job,   &lock_dead,        &find_holders,   &lock_dead_named, &find_holders_named,
        &find_digest,    &find_dead_digest, &lock_counts_of, &count_slice,     &lock_slice,
        &count_tokens,   &hold_keys,        &free_keys,      &find_digests,    &count_duplicates,
        &lock_keys_of,   &lock_first,       &lock_small};
    return all;
}

rota::task<void> set_up_session(postgres_connection* on) {
    for (const char* const each : settings) {
        on->send_text(each);
        (void)co_await on->sync(); // does without
    }
}

rota::task<void> prepare_statements(postgres_connection* on) {
    for (const sql::prepared* each : sql::statements())
        on->prepare(each->name, each->text);
    const std::vector<postgres_result> prepared = co_await on->sync();
    require_ok(prepared);
}

} // namespace jobs
