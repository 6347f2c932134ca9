#include "table.hpp"

#include <algorithm>
#include <array>
#include <memory>

#include <rota/crypto/digest.hpp>

#include "jobs/rules/lease_id.hpp"
#include "statements.hpp"

namespace jobs {
namespace {

std::uint64_t unsigned_at(const postgres_result& rows, int row, int column) noexcept {
    return static_cast<std::uint64_t>(rows.integer(row, column));
}

// What is counted, in the order of the columns; first of each state.
constexpr std::array counted{
    &queue_counts::queued,   &queue_counts::delayed, &queue_counts::in_progress,
    &queue_counts::dead,     &queue_counts::added,   &queue_counts::completed,
    &queue_counts::failures, &queue_counts::expired, &queue_counts::duplicates,
};

job_row job_at(const postgres_result& rows, int i) {
    job_row job;
    job.queue = unsigned_at(rows, i, 0);
    job.id = unsigned_at(rows, i, 1);
    job.state = static_cast<job_state>(rows.integer(i, 2));
    job.rank = static_cast<std::uint8_t>(rows.integer(i, 3));
    job.attempts = static_cast<std::uint32_t>(rows.integer(i, 4));
    job.duplicates = static_cast<std::uint32_t>(rows.integer(i, 5));
    job.added_at = rows.integer(i, 6);
    job.since = rows.integer(i, 7);
    job.due = rows.integer(i, 8);
    job.queued_ms = rows.integer(i, 9);
    job.in_progress_ms = rows.integer(i, 10);
    job.cause = static_cast<job_cause>(rows.integer(i, 11));
    return job;
}

/// What is kept of a lease is what its job's id does not tell; all of it of one that an earlier
/// version has made, which is longer.
std::string lease_of(const job_row& job, std::string_view kept) {
    return kept.size() > lease_secret_digits ? std::string(kept) : lease_id_of(job.id, kept);
}
std::string_view kept_of(std::string_view lease) {
    return lease.substr(std::min(lease.size(), lease_job_digits));
}

using text_value = std::optional<std::string_view>;

/// Rows, as the columns that a statement is given: arrays of numbers, then of texts.
template <std::size_t Numbers, std::size_t Texts>
class column_rows {
public:
    void add(const std::array<std::int64_t, Numbers>& numbers,
             const std::array<text_value, Texts>& texts) {
        for (std::size_t i = 0; i < Numbers; ++i)
            numbers_[i].push_back(numbers[i]);
        for (std::size_t i = 0; i < Texts; ++i)
            texts_[i].push_back(texts[i]);
    }
    [[nodiscard]] postgres_values values() const {
        postgres_values made;
        for (const auto& column : numbers_)
            made.add(column);
        for (const auto& column : texts_)
            made.add_bytes(column);
        return made;
    }

private:
    std::array<std::vector<std::int64_t>, Numbers> numbers_;
    std::array<std::vector<text_value>, Texts> texts_;
};

} // namespace

std::string digest_of(std::string_view key) {
    return std::string(rota::crypto::view(rota::crypto::sha256_of(key)));
}

// --- Loading ---

void postgres_table::load_queues(const postgres_result& rows, bool counted_too) {
    for (int i = 0; i < rows.rows(); ++i) {
        queue_row queue;
        queue.number = unsigned_at(rows, i, 0);
        queue.name = std::make_shared<const std::string>(rows.text(i, 1));
        queue.settings = {unsigned_at(rows, i, 2), static_cast<std::uint32_t>(rows.integer(i, 3)),
                          rows.integer(i, 4), unsigned_at(rows, i, 5), rows.integer(i, 6) != 0};
        backoff_settings& backoff = queue.settings.backoff;
        read_kept(rows.integer(i, 7), backoff.after);
        read_kept(rows.integer(i, 8), backoff.initial_ms);
        read_kept(rows.integer(i, 9), backoff.factor_milli);
        read_kept(rows.integer(i, 10), backoff.max_ms);
        if (counted_too) {
            int column = 11;
            for (const auto each : counted)
                queue.counts.*each = unsigned_at(rows, i, column++);
            queue.counts.queued_ms = rows.integer(i, column++);
            queue.counts.in_progress_ms = rows.integer(i, column);
        } else {
            queue.counts = in_hand_[queue.number];
        }
        const std::uint64_t number = queue.number;
        loaded_queues_.emplace(number, std::move(queue));
    }
}

std::size_t postgres_table::load_jobs(const postgres_result& rows,
                                      const std::map<std::string, std::string>* keys) {
    std::size_t largest = 0;
    for (int i = 0; i < rows.rows(); ++i) {
        const job_row job = job_at(rows, i);
        if (rows_.find(job.queue, job.id))
            continue; // asked for twice
        ++(in_hand_[job.queue].*counted.at(static_cast<std::size_t>(job.state)));
        std::string key(rows.text(i, 14));
        if (keys != nullptr) {
            key = keys->at(std::string(rows.text(i, 13)));
        } else if (rows.is_null(i, 14)) {
            key = '\0' + std::to_string(job.id); // not asked for: one that no other has
        }
        std::string payload(rows.text(i, 15));
        largest = std::max(largest, payload.size());
        rows_.insert(job, std::move(key), std::move(payload));
        if (!rows.is_null(i, 12))
            rows_.update(job, lease_of(job, rows.text(i, 12)));
        if (!rows.is_null(i, 16))
            rows_.set_error(job, rows.text(i, 16));
    }
    return largest;
}

void postgres_table::load_tokens(const postgres_result& rows) {
    for (int i = 0; i < rows.rows(); ++i) {
        rows_.insert_token(unsigned_at(rows, i, 0), rows.text(i, 1),
                           {unsigned_at(rows, i, 2), unsigned_at(rows, i, 3), rows.integer(i, 4)});
    }
}

void postgres_table::load_ids(const postgres_result& rows) {
    for (int i = 0; i < rows.rows(); ++i)
        ids_.push_back(unsigned_at(rows, i, 0));
    std::ranges::sort(ids_, std::greater<>());
}

const queue_row* postgres_table::queue_named(const std::string& name) const {
    for (const auto& [number, row] : loaded_queues_) {
        if (*row.name == name)
            return &row;
    }
    return nullptr;
}

// --- For the rules ---

std::vector<queue_row> postgres_table::queues() {
    std::vector<queue_row> rows;
    rows.reserve(loaded_queues_.size());
    for (const auto& [number, row] : loaded_queues_)
        rows.push_back(row);
    return rows;
}

void postgres_table::save(const queue_row& queue) {
    saved_queues_.insert_or_assign(queue.number, queue);
}

void postgres_table::erase_queue(std::uint64_t number) {
    if (!may_remove_)
        throw store_error("the job store's rules went beyond what they were given");
    erased_queues_.push_back(static_cast<std::int64_t>(number));
}

std::uint64_t postgres_table::new_id(queue_row&) {
    if (ids_.empty())
        throw store_error("the job store's rules went beyond what they were given");
    const std::uint64_t id = ids_.back();
    ids_.pop_back();
    return id;
}

std::uint64_t postgres_table::id_to_come(const queue_row&) {
    queue_row any;
    return new_id(any); // is not used for a job
}

void postgres_table::insert(const job_row& job, std::string key, std::string payload) {
    inserted_.emplace(job.queue, job.id);
    rows_.insert(job, std::move(key), std::move(payload));
}

void postgres_table::update(const job_row& job, std::optional<std::string_view> lease) {
    if (!inserted_.contains({job.queue, job.id})) {
        changes& what = changes_of(job);
        if (lease)
            what.lease = *lease;
    }
    rows_.update(job, lease);
}

/// Beside its key, so that the job is not locked for it.
void postgres_table::count_duplicate(const job_row& job) {
    if (inserted_.contains({job.queue, job.id})) {
        table::count_duplicate(job);
        return;
    }
    ++duplicates_[{job.queue, job.id}];
}

void postgres_table::set_error(const job_row& job, std::string_view error) {
    rows_.set_error(job, error);
    changes_of(job).error = error;
}

/// To be asked for before the first of them is made.
postgres_table::changes& postgres_table::changes_of(const job_row& job) {
    const auto [at, first] = changed_.try_emplace({job.queue, job.id});
    if (first)
        at->second.was_dead = rows_.find(job.queue, job.id)->state == job_state::dead;
    return at->second;
}

void postgres_table::erase(const job_row& job) {
    rows_.erase(job);
    const place at{job.queue, job.id};
    changed_.erase(at);
    if (inserted_.erase(at) == 0)
        erased_.push_back(static_cast<std::int64_t>(job.id));
}

void postgres_table::insert_token(std::uint64_t queue, std::string_view token, token_row row) {
    rows_.insert_token(queue, token, row);
    new_tokens_.insert_or_assign({queue, std::string(token)}, row);
}

// --- Writing ---

void postgres_table::write_inserted(postgres_connection& to) {
    struct inserted {
        job_row row;
        std::string digest;
        job_texts texts;
    };
    std::vector<inserted> jobs;
    for (const auto& [queue, id] : inserted_) {
        const job_row row = *rows_.find(queue, id);
        job_texts texts = rows_.texts(row);
        std::string digest = digest_of(texts.key);
        jobs.push_back({row, std::move(digest), std::move(texts)});
    }
    std::ranges::sort(jobs, {}, [](const inserted& job) {
        return std::pair<std::string_view, std::uint64_t>(job.digest, job.row.queue);
    });
    column_rows<7, 3> rows;
    for (const inserted& job : jobs) {
        rows.add({static_cast<std::int64_t>(job.row.queue), static_cast<std::int64_t>(job.row.id),
                  static_cast<std::int64_t>(job.row.state), std::int64_t{job.row.rank},
                  std::int64_t{job.row.duplicates}, job.row.added_at, job.row.due},
                 {job.digest, job.texts.key, job.texts.payload});
    }
    to.send(sql::insert_jobs.name, rows.values());
}

void postgres_table::write_changed(postgres_connection& to) {
    column_rows<8, 2> rows;
    for (const auto& [at, what] : changed_) {
        const job_row job = *rows_.find(at.first, at.second);
        rows.add({static_cast<std::int64_t>(job.id), static_cast<std::int64_t>(job.state),
                  std::int64_t{job.attempts}, job.since, job.due, job.queued_ms, job.in_progress_ms,
                  static_cast<std::int64_t>(job.cause)},
                 {what.lease.transform(kept_of), what.error});
    }
    to.send(sql::update_jobs.name, rows.values());
}

/// In the order of digests. A job that is gone meanwhile, or dead, needs none.
void postgres_table::write_duplicates(postgres_connection& to) {
    std::map<std::pair<std::string, std::uint64_t>, std::pair<std::uint64_t, std::int64_t>> sorted;
    for (const auto& [at, more] : duplicates_) {
        const auto& [queue, id] = at;
        std::string digest = digest_of(rows_.key(*rows_.find(queue, id)));
        sorted[{std::move(digest), queue}] = {id, more};
    }
    std::array<std::vector<std::int64_t>, 3> numbers;
    std::vector<std::optional<std::string_view>> digests;
    for (const auto& [key, job] : sorted) {
        digests.emplace_back(key.first);
        numbers[0].push_back(static_cast<std::int64_t>(key.second));
        numbers[1].push_back(static_cast<std::int64_t>(job.first));
        numbers[2].push_back(job.second);
    }
    postgres_values values;
    values.add(numbers[0]).add_bytes(digests);
    to.send(sql::count_duplicates.name, values.add(numbers[1]).add(numbers[2]));
}

/// The ids of those that are dead now and were not, or the other way round.
std::vector<std::int64_t> postgres_table::changed_from(bool was_dead) {
    std::vector<std::int64_t> ids;
    for (const auto& [at, what] : changed_) {
        const bool is_dead = rows_.find(at.first, at.second)->state == job_state::dead;
        if (what.was_dead == was_dead && is_dead != was_dead)
            ids.push_back(static_cast<std::int64_t>(at.second));
    }
    return ids;
}

/// Written last, the rows of counts are locked for the shortest time.
void postgres_table::write_counts(postgres_connection& to, std::int64_t shard) {
    for (const auto& [number, now] : saved_queues_) {
        const queue_row& before = loaded_queues_.at(number);
        if (now.settings != before.settings) {
            to.send(sql::save_queue.name, postgres_values()
                                              .add(number)
                                              .add(now.settings.max_jobs)
                                              .add(std::uint64_t{now.settings.max_attempts})
                                              .add(now.settings.lease_ms)
                                              .add(now.settings.payload_bytes_max)
                                              .add(std::uint64_t{now.settings.paused})
                                              .add(kept(now.settings.backoff.after))
                                              .add(kept(now.settings.backoff.initial_ms))
                                              .add(kept(now.settings.backoff.factor_milli))
                                              .add(kept(now.settings.backoff.max_ms)));
        }
    }
    for (const auto& [number, now] : saved_queues_) {
        const queue_counts& before = loaded_queues_.at(number).counts;
        if (now.counts == before)
            continue;
        postgres_values values;
        values.add(number).add(shard);
        for (const auto each : counted) // what was loaded may be behind: only the difference counts
            values.add(now.counts.*each - before.*each);
        values.add(now.counts.queued_ms - before.queued_ms);
        values.add(now.counts.in_progress_ms - before.in_progress_ms);
        to.send(sql::add_counts.name, values);
    }
}

void drop_queue(postgres_connection& to, std::int64_t number,
                const std::vector<std::int64_t>& shards) {
    if (!shards.empty())
        to.send(sql::drop_counts.name, postgres_values().add(number).add(shards));
    to.send(sql::drop_queue.name, postgres_values().add(number));
}

std::vector<postgres_table::expected> postgres_table::write(postgres_connection& to,
                                                            std::int64_t shard, time_ms now) {
    std::vector<expected> result;
    std::size_t sent = 0;
    if (!changed_.empty()) {
        write_changed(to);
        ++sent;
    }
    if (std::vector<std::int64_t> died = changed_from(false); !died.empty()) {
        // Those of the others, too: keys that are there are locked by one statement, in order.
        died.insert(died.end(), erased_.begin(), erased_.end());
        to.send(sql::free_keys.name, postgres_values().add(died));
        ++sent;
    }
    if (const std::vector<std::int64_t> revived = changed_from(true); !revived.empty()) {
        to.send(sql::hold_keys.name, postgres_values().add(revived));
        result.push_back({sent++, revived.size()});
    }
    if (!erased_.empty()) {
        to.send(sql::delete_jobs.name, postgres_values().add(erased_));
        ++sent;
    }
    if (!inserted_.empty()) {
        write_inserted(to);
        result.push_back({sent++, inserted_.size()});
    }
    if (!new_tokens_.empty()) {
        std::array<std::vector<std::int64_t>, 4> numbers;
        std::vector<std::optional<std::string_view>> tokens;
        for (const auto& [name, row] : new_tokens_) {
            numbers[0].push_back(static_cast<std::int64_t>(name.first));
            tokens.emplace_back(name.second);
            numbers[1].push_back(static_cast<std::int64_t>(row.fingerprint));
            numbers[2].push_back(static_cast<std::int64_t>(row.id));
            numbers[3].push_back(row.expires_at);
        }
        postgres_values values;
        values.add(numbers[0]).add_bytes(tokens);
        values.add(numbers[1]).add(numbers[2]).add(numbers[3]).add(now);
        to.send(sql::insert_tokens.name, values);
        result.push_back({sent, new_tokens_.size()});
    }
    if (!duplicates_.empty())
        write_duplicates(to);
    write_counts(to, shard);
    for (const std::int64_t number : erased_queues_) {
        drop_queue(to, number, shards_);
    }
    return result;
}

} // namespace jobs
