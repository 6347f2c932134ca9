#include "table.hpp"

#include <memory>
#include <utility>

namespace jobs {
namespace {

constexpr unsigned id_bits = 40;

std::uint64_t row_key(std::uint64_t queue, std::uint64_t id) noexcept {
    return (queue << id_bits) | id;
}
std::uint64_t row_key(const job_row& job) noexcept { return row_key(job.queue, job.id); }

std::int64_t number_of(job_state state) noexcept { return static_cast<std::int64_t>(state); }

std::uint64_t unsigned_at(const sqlite_statement& row, int column) noexcept {
    return static_cast<std::uint64_t>(row.integer(column));
}

#define JOB_COLUMNS                                                                                \
    "SELECT place, state, rank, attempts, duplicates, added_at, since, due, queued_ms, "           \
    "in_progress_ms, cause FROM jobs "

job_row read_job(const sqlite_statement& row) {
    job_row job;
    job.queue = unsigned_at(row, 0) >> id_bits;
    job.id = unsigned_at(row, 0) & ((std::uint64_t{1} << id_bits) - 1);
    job.state = static_cast<job_state>(row.integer(1));
    job.rank = static_cast<std::uint8_t>(row.integer(2));
    job.attempts = static_cast<std::uint32_t>(row.integer(3));
    job.duplicates = static_cast<std::uint32_t>(row.integer(4));
    job.added_at = row.integer(5);
    job.since = row.integer(6);
    job.due = row.integer(7);
    job.queued_ms = row.integer(8);
    job.in_progress_ms = row.integer(9);
    job.cause = static_cast<job_cause>(row.integer(10));
    return job;
}

queue_row read_queue(const sqlite_statement& row) {
    queue_row queue;
    queue.number = unsigned_at(row, 0);
    queue.name = std::make_shared<const std::string>(row.text(1));
    queue.next_id = unsigned_at(row, 2);
    queue.settings = {unsigned_at(row, 3), static_cast<std::uint32_t>(row.integer(4)),
                      row.integer(5), unsigned_at(row, 6), row.integer(7) != 0};
    backoff_settings& b = queue.settings.backoff;
    read_kept(row.integer(8), b.after);
    read_kept(row.integer(9), b.initial_ms);
    read_kept(row.integer(10), b.factor_milli);
    read_kept(row.integer(11), b.max_ms);
    queue_counts& c = queue.counts;
    int column = 12;
    for (std::uint64_t* const each : {&c.queued, &c.delayed, &c.in_progress, &c.dead, &c.added,
                                      &c.completed, &c.failures, &c.expired, &c.duplicates})
        *each = unsigned_at(row, column++);
    c.queued_ms = row.integer(column++);
    c.in_progress_ms = row.integer(column);
    return queue;
}

} // namespace

sqlite_table::sqlite_table(sqlite_database& file)
    : queues_(file,
              "SELECT number, name, next_id, max_jobs, max_attempts, lease_ms, "
              "payload_bytes_max, paused, backoff_after, backoff_initial_ms, "
              "backoff_factor_milli, backoff_max_ms, queued, delayed, in_progress, dead, added, "
              "completed, failures, expired, duplicates, queued_ms, in_progress_ms "
              "FROM queues"),
      save_(file, "INSERT OR REPLACE INTO queues (number, name, next_id, max_jobs, max_attempts, "
                  "lease_ms, payload_bytes_max, paused, backoff_after, backoff_initial_ms, "
                  "backoff_factor_milli, backoff_max_ms, queued, delayed, in_progress, dead, "
                  "added, "
                  "completed, failures, expired, duplicates, queued_ms, in_progress_ms) "
                  "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"),
      erase_queue_(file, "DELETE FROM queues WHERE number=?"),
      erase_tokens_(file, "DELETE FROM tokens WHERE queue=?"),
      find_(file, JOB_COLUMNS "WHERE place=?"),
      find_key_(file, JOB_COLUMNS "WHERE queue=? AND key=? AND state<3"),
      find_dead_(file,
                 JOB_COLUMNS "WHERE queue=? AND key=? AND state=3 ORDER BY place DESC LIMIT ?"),
      find_lease_(file, JOB_COLUMNS "WHERE lease=? AND lease<>''"),
      texts_(file, "SELECT key, payload, error FROM jobs WHERE place=?"),
      key_(file, "SELECT key FROM jobs WHERE place=?"),
      // Not as one, (rank, place)>(?, ?): of that the library uses the rank only, and walks all of
      // it that lies before the place. And by this index: by places alone it would walk those
      // of other states, and of other queues.
      list_rest_of_rank_(file, JOB_COLUMNS
                         "INDEXED BY jobs_order WHERE queue=? AND state=? AND rank=? AND place>? "
                         "ORDER BY place LIMIT ?"),
      list_ranks_(file, JOB_COLUMNS "INDEXED BY jobs_order WHERE queue=? AND state=? AND rank>=? "
                                    "ORDER BY rank, place LIMIT ?"),
      due_(file, JOB_COLUMNS "WHERE due>0 AND due<=? ORDER BY due, place LIMIT ?"),
      next_due_(file, "SELECT due FROM jobs WHERE due>0 ORDER BY due LIMIT 1"),
      insert_(file, "INSERT INTO jobs (place, queue, state, rank, attempts, duplicates, added_at, "
                    "since, due, queued_ms, in_progress_ms, lease, error, key, payload) "
                    "VALUES (?,?,?,?,?,?,?,?,?,?,?,'','',?,?)"),
      update_(file, "UPDATE jobs SET state=?2, attempts=?3, duplicates=?4, since=?5, due=?6, "
                    "queued_ms=?7, in_progress_ms=?8, cause=?9 WHERE place=?1"),
      update_lease_(file, "UPDATE jobs SET state=?2, attempts=?3, duplicates=?4, since=?5, "
                          "due=?6, queued_ms=?7, in_progress_ms=?8, cause=?9, lease=?10 "
                          "WHERE place=?1"),
      set_error_(file, "UPDATE jobs SET error=?2 WHERE place=?1"),
      erase_(file, "DELETE FROM jobs WHERE place=?"),
      find_token_(file, "SELECT fingerprint, id, expires_at FROM tokens WHERE queue=? AND token=?"),
      insert_token_(file, "INSERT OR REPLACE INTO tokens (queue, token, fingerprint, id, "
                          "expires_at) VALUES (?,?,?,?,?)"),
      drop_ended_tokens_(file, "DELETE FROM tokens WHERE expires_at<=?"),
      drop_oldest_tokens_(file, "DELETE FROM tokens WHERE (queue, token) IN (SELECT queue, token "
                                "FROM tokens ORDER BY expires_at LIMIT ?)"),
      count_tokens_(file, "SELECT count(*) FROM tokens"), tokens_(0) {
    if (count_tokens_.step())
        tokens_ = static_cast<std::size_t>(count_tokens_.integer(0));
    count_tokens_.reset();
}

#undef JOB_COLUMNS

std::vector<job_row> sqlite_table::all(sqlite_statement& of) {
    std::vector<job_row> rows;
    while (of.step())
        rows.push_back(read_job(of));
    of.reset();
    return rows;
}

std::optional<job_row> sqlite_table::one(sqlite_statement& of) {
    std::optional<job_row> row;
    if (of.step())
        row = read_job(of);
    of.reset();
    return row;
}

std::vector<queue_row> sqlite_table::queues() {
    std::vector<queue_row> rows;
    queues_.reset();
    while (queues_.step())
        rows.push_back(read_queue(queues_));
    queues_.reset();
    return rows;
}

void sqlite_table::save(const queue_row& queue) {
    const queue_settings& s = queue.settings;
    const backoff_settings& b = s.backoff;
    const queue_counts& c = queue.counts;
    save_
        .bind(queue.number, std::string_view(*queue.name), queue.next_id, s.max_jobs,
              std::uint64_t{s.max_attempts}, s.lease_ms, s.payload_bytes_max,
              std::uint64_t{s.paused}, kept(b.after), kept(b.initial_ms), kept(b.factor_milli),
              kept(b.max_ms), c.queued, c.delayed, c.in_progress, c.dead, c.added, c.completed,
              c.failures, c.expired, c.duplicates, c.queued_ms, c.in_progress_ms)
        .run();
}

void sqlite_table::erase_queue(std::uint64_t number) {
    erase_tokens_.bind(number).run();
    erase_queue_.bind(number).run();
}

std::optional<job_row> sqlite_table::find(std::uint64_t queue, std::uint64_t id) {
    if (id >> id_bits != 0)
        return std::nullopt;
    return one(find_.bind(row_key(queue, id)));
}

std::optional<job_row> sqlite_table::find_key(std::uint64_t queue, std::string_view key) {
    return one(find_key_.bind(queue, key));
}

std::vector<job_row> sqlite_table::find_dead(std::uint64_t queue, std::string_view key,
                                             std::size_t limit) {
    return all(find_dead_.bind(queue, key, std::uint64_t{limit}));
}

std::optional<job_row> sqlite_table::find_lease(std::string_view lease) {
    return one(find_lease_.bind(lease));
}

job_texts sqlite_table::texts(const job_row& job) {
    job_texts result;
    if (texts_.bind(row_key(job)).step()) {
        result = {std::string(texts_.text(0)), std::string(texts_.text(1)),
                  std::string(texts_.text(2))};
    }
    texts_.reset();
    return result;
}

std::string sqlite_table::key(const job_row& job) {
    std::string result;
    if (key_.bind(row_key(job)).step())
        result = key_.text(0);
    key_.reset();
    return result;
}

std::vector<job_row> sqlite_table::list(std::uint64_t queue, job_state state, position after,
                                        std::size_t limit) {
    std::vector<job_row> rows;
    std::uint64_t from = after.rank;
    if (after.id != 0) {
        rows = all(list_rest_of_rank_.bind(queue, number_of(state), from++,
                                           row_key(queue, after.id), std::uint64_t{limit}));
    }
    if (rows.size() < limit) {
        const std::uint64_t left = limit - rows.size();
        const std::vector<job_row> rest =
            all(list_ranks_.bind(queue, number_of(state), from, left));
        rows.insert(rows.end(), rest.begin(), rest.end());
    }
    return rows;
}

std::vector<job_row> sqlite_table::due(time_ms now, std::size_t limit) {
    return all(due_.bind(now, std::uint64_t{limit}));
}

time_ms sqlite_table::next_due() {
    next_due_.reset();
    const time_ms next = next_due_.step() ? next_due_.integer(0) : never;
    next_due_.reset();
    return next;
}

void sqlite_table::insert(const job_row& job, std::string key, std::string payload) {
    insert_
        .bind(row_key(job), job.queue, number_of(job.state), std::uint64_t{job.rank},
              std::uint64_t{job.attempts}, std::uint64_t{job.duplicates}, job.added_at, job.since,
              job.due, job.queued_ms, job.in_progress_ms, std::string_view(key),
              std::string_view(payload))
        .run();
}

void sqlite_table::update(const job_row& job, std::optional<std::string_view> lease) {
    const auto bind = [&](sqlite_statement& to, const auto&... more) {
        to.bind(row_key(job), number_of(job.state), std::uint64_t{job.attempts},
                std::uint64_t{job.duplicates}, job.since, job.due, job.queued_ms,
                job.in_progress_ms, static_cast<std::int64_t>(job.cause), more...)
            .run();
    };
    if (lease) {
        bind(update_lease_, *lease);
    } else {
        bind(update_);
    }
}

void sqlite_table::set_error(const job_row& job, std::string_view error) {
    set_error_.bind(row_key(job), error).run();
}

void sqlite_table::erase(const job_row& job) { erase_.bind(row_key(job)).run(); }

/// Of few jobs; of more it would take a walk.
bool sqlite_table::agrees_with(const queue_row& queue) {
    constexpr std::uint64_t few = 50;
    const queue_counts& c = queue.counts;
    if (c.queued > few || c.delayed > few || c.in_progress > few || c.dead > few)
        return true;
    const auto stored = [&](job_state state) {
        return std::uint64_t{list(queue.number, state, {}, few + 1).size()};
    };
    return stored(job_state::queued) == c.queued && stored(job_state::delayed) == c.delayed &&
           stored(job_state::in_progress) == c.in_progress && stored(job_state::dead) == c.dead;
}

std::optional<table::token_row> sqlite_table::find_token(std::uint64_t queue,
                                                         std::string_view token) {
    std::optional<token_row> found;
    if (find_token_.bind(queue, token).step())
        found = {unsigned_at(find_token_, 0), unsigned_at(find_token_, 1), find_token_.integer(2)};
    find_token_.reset();
    return found;
}

void sqlite_table::insert_token(std::uint64_t queue, std::string_view token, token_row row) {
    insert_token_.bind(queue, token, row.fingerprint, row.id, row.expires_at).run();
    ++tokens_;
}

void sqlite_table::drop_tokens(time_ms now, std::size_t kept_max) {
    drop_ended_tokens_.bind(now).run();
    if (tokens_ <= kept_max)
        return;
    count_tokens_.reset();
    if (count_tokens_.step())
        tokens_ = static_cast<std::size_t>(count_tokens_.integer(0));
    count_tokens_.reset();
    // Some more than must go, so that counting is rare.
    if (tokens_ > kept_max) {
        const std::size_t dropped = tokens_ - kept_max + kept_max / 100;
        drop_oldest_tokens_.bind(std::uint64_t{dropped}).run();
        tokens_ -= dropped;
    }
}

} // namespace jobs
