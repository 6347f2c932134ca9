#include "ledger.hpp"

#include <algorithm>

#include <rota/check.hpp>

#include "backoff.hpp"
#include "lease_id.hpp"
#include "payload_size.hpp"

namespace jobs {
namespace {

constexpr std::size_t due_at_once = 1'000;

auto or_default(auto set, decltype(set) otherwise) noexcept { return set != 0 ? set : otherwise; }

} // namespace

ledger::ledger(table& rows, store_limits limits, id_source lease_ids)
    : rows_(rows), limits_(limits), lease_ids_(std::move(lease_ids)) {
    reload();
}

// --- Queues ---

void ledger::reload() {
    queues_.clear();
    by_number_.clear();
    changes_.clear();
    dirty_.clear();
    next_due_ = 0;
    for (queue_row& row : rows_.queues()) {
        next_number_ = std::max(next_number_, row.number % table::queue_number_max + 1);
        const std::string name = *row.name;
        queue_row& kept = queues_.emplace(name, std::move(row)).first->second;
        by_number_.emplace(kept.number, &kept);
    }
}

void ledger::flush() {
    for (const std::uint64_t number : std::exchange(dirty_, {})) {
        const auto found = by_number_.find(number);
        if (found == by_number_.end())
            continue; // forgotten meanwhile
        ROTA_CHECK(rows_.agrees_with(*found->second), "a queue's counts are of what is stored");
        found->second->dirty = false;
        rows_.save(*found->second);
    }
}

void ledger::mark(queue_row& queue) {
    if (!std::exchange(queue.dirty, true))
        dirty_.push_back(queue.number);
}

queue_row* ledger::find_queue(const std::string& name) {
    const auto found = queues_.find(name);
    return found == queues_.end() ? nullptr : &found->second;
}

queue_row* ledger::open_queue(const std::string& name) {
    if (queue_row* const known = find_queue(name))
        return known;
    if (queues_.size() >= limits_.queues_max && !forget_unused_queue())
        return nullptr;
    while (by_number_.contains(next_number_))
        next_number_ = next_number_ % table::queue_number_max + 1;
    queue_row row;
    row.number = next_number_;
    // What goes on in steps tells by it whether the queue is still the one that it began with.
    next_number_ = next_number_ % table::queue_number_max + 1;
    row.name = std::make_shared<const std::string>(name);
    queue_row& kept = queues_.emplace(name, std::move(row)).first->second;
    by_number_.emplace(kept.number, &kept);
    mark(kept);
    return &kept;
}

void ledger::note(change_kind kind, queue_row& queue, const job_row* job, time_ms now,
                  std::int64_t spent_ms) {
    change what;
    what.spent_ms = spent_ms;
    what.kind = kind;
    what.queue = queue.name;
    what.at = now;
    if (job != nullptr) {
        what.id = job->id;
        what.attempt = job->attempts;
        what.due = job->due;
    }
    changes_.push_back(std::move(what));
}

std::uint64_t& ledger::count(queue_row& queue, job_state state) {
    mark(queue);
    switch (state) {
    case job_state::queued:
        queue.oldest_known = false;
        return queue.counts.queued;
    case job_state::delayed:
        return queue.counts.delayed;
    case job_state::in_progress:
        return queue.counts.in_progress;
    default:
        return queue.counts.dead;
    }
}

/// It leaves the state that it is in.
void ledger::uncount(queue_row& queue, const job_row& job) {
    std::uint64_t& there = count(queue, job.state);
    ROTA_CHECK(there != 0, "a job is counted in the state that it leaves");
    --there;
}

/// To another state from now on; counts the time in the one that ends, and returns it.
std::int64_t ledger::move(queue_row& queue, job_row& job, job_state to, time_ms now) {
    const std::int64_t spent = std::max<std::int64_t>(now - job.since, 0);
    if (job.state == job_state::in_progress) {
        job.in_progress_ms += spent;
        queue.counts.in_progress_ms += spent;
    } else if (job.state != job_state::dead) {
        job.queued_ms += spent;
        queue.counts.queued_ms += spent;
    }
    uncount(queue, job);
    ++count(queue, to);
    job.state = to;
    job.since = now;
    return spent;
}

// --- Adding ---

std::vector<add_result> ledger::add(const std::string& queue, std::vector<new_job> jobs,
                                    const std::optional<idempotency>& token, time_ms now) {
    pass_time(now);
    std::vector<add_result> results;
    results.reserve(jobs.size());
    queue_row* const row = open_queue(queue);
    for (new_job& job : jobs) {
        if (row == nullptr) {
            results.push_back({add_outcome::too_many_queues});
            continue;
        }
        if (token) {
            if (const auto known = known_try(*row, *token, job.delay_ms, now)) {
                results.push_back(*known);
                continue;
            }
        }
        const add_result result = add_one(*row, std::move(job), now);
        if (token && result.outcome == add_outcome::added) {
            rows_.insert_token(row->number, token->token,
                               {token->fingerprint, result.id, now + limits_.token_kept_ms});
            rows_.drop_tokens(now, limits_.tokens_max);
        }
        results.push_back(result);
    }
    return results;
}

std::optional<add_result> ledger::known_try(const queue_row& queue, const idempotency& token,
                                            std::int64_t delay_ms, time_ms now) {
    const auto known = rows_.find_token(queue.number, token.token);
    if (!known)
        return std::nullopt;
    if (known->expires_at <= now) {
        rows_.drop_tokens(now, limits_.tokens_max);
        return std::nullopt;
    }
    if (known->fingerprint != token.fingerprint)
        return add_result{add_outcome::mismatched};
    return add_result{add_outcome::replayed, known->id,
                      delay_ms > 0 ? job_state::delayed : job_state::queued};
}

add_result ledger::add_one(queue_row& queue, new_job job, time_ms now) {
    if (const auto there = rows_.find_key(queue.number, job.key)) {
        ++queue.counts.duplicates;
        mark(queue);
        rows_.count_duplicate(*there);
        return {add_outcome::duplicate, there->id, there->state};
    }
    const auto payload_max = queue.settings.payload_bytes_max;
    if (payload_max != 0 && payload_size(job.payload) > payload_max)
        return {add_outcome::too_large};
    if (queue.next_id > table::id_max)
        return {add_outcome::out_of_ids};
    const queue_counts& c = queue.counts;
    const auto limit = or_default(queue.settings.max_jobs, limits_.jobs_max);
    if (c.queued + c.delayed + c.in_progress + c.dead >= limit ||
        rows_.memory_bytes() >= limits_.memory_bytes_max)
        return {add_outcome::full};
    job_row row;
    row.queue = queue.number;
    row.id = rows_.new_id(queue);
    row.rank = static_cast<std::uint8_t>(priority_max - job.priority);
    row.added_at = row.since = now;
    if (job.delay_ms > 0) {
        row.state = job_state::delayed;
        row.due = now + job.delay_ms;
        next_due_ = std::min(next_due_, row.due);
    }
    rows_.insert(row, std::move(job.key), std::move(job.payload));
    ++count(queue, row.state);
    ++queue.counts.added;
    note(change_kind::added, queue, &row, now);
    return {add_outcome::added, row.id, row.state};
}

// --- Taking ---

std::vector<std::vector<taken_job>>
ledger::take(const std::string& queue, const std::vector<take_request>& wanted, time_ms now) {
    pass_time(now);
    std::vector<std::vector<taken_job>> results(wanted.size());
    queue_row* const row = find_queue(queue);
    if (row == nullptr || row->settings.paused)
        return results;
    for (std::size_t i = 0; i < wanted.size() && row->counts.queued > 0; ++i)
        results[i] = take_up_to(*row, wanted[i], now);
    return results;
}

std::vector<taken_job> ledger::take_up_to(queue_row& queue, const take_request& wanted,
                                          time_ms now) {
    const std::int64_t lease =
        or_default(wanted.lease_ms, or_default(queue.settings.lease_ms, limits_.lease_ms));
    const std::size_t max = std::min(wanted.max, given_max_);
    std::vector<taken_job> jobs;
    std::size_t bytes = 0;
    for (job_row& row : rows_.list(queue.number, job_state::queued, {}, max)) {
        job_texts texts = rows_.texts(row);
        bytes += texts.payload.size();
        if (!jobs.empty() && bytes > limits_.take_bytes_max)
            break;
        const std::int64_t spent = move(queue, row, job_state::in_progress, now);
        ++row.attempts;
        row.due = now + lease;
        next_due_ = std::min(next_due_, row.due);
        std::string id = lease_id_of(row.id, lease_ids_());
        rows_.update(row, id);
        note(change_kind::taken, queue, &row, now, spent);
        jobs.push_back({row.id, std::move(texts.key), std::move(texts.payload), row.attempts,
                        std::move(id), row.due});
    }
    return jobs;
}

// --- What becomes of a lease ---

std::optional<job_row> ledger::leased(const queue_row* queue, const std::string& lease) {
    if (queue == nullptr)
        return std::nullopt;
    std::optional<job_row> job = rows_.find_lease(lease);
    if (job && job->queue != queue->number)
        job.reset();
    ROTA_CHECK(!job || job->state == job_state::in_progress, "a job with a lease is in progress");
    return job;
}

settle_result ledger::settle(const std::string& queue, std::vector<std::string> acks,
                             std::vector<retry> retries, time_ms now) {
    pass_time(now);
    settle_result result;
    queue_row* const row = find_queue(queue);
    for (std::string& id : acks) {
        const std::optional<job_row> job = leased(row, id);
        if (!job) {
            result.lost.push_back(std::move(id));
            continue;
        }
        const std::int64_t spent = std::max<std::int64_t>(now - job->since, 0);
        row->counts.in_progress_ms += spent;
        uncount(*row, *job);
        ++row->counts.completed;
        rows_.erase(*job);
        ++result.acked;
        note(change_kind::completed, *row, &*job, now, spent);
        changes_.back().due = 0;
    }
    for (retry& each : retries) {
        std::optional<job_row> job = leased(row, each.lease_id);
        if (!job) {
            result.lost.push_back(std::move(each.lease_id));
            continue;
        }
        if (!each.error.empty())
            rows_.set_error(*job, each.error);
        give_back(*row, *job, change_kind::retried, each.delay_ms, now);
        ++result.retried;
    }
    return result;
}

/// From in_progress to wherever it belongs. An attempt that succeeds ends the job, so attempts are
/// failures in a row.
void ledger::give_back(queue_row& queue, job_row job, change_kind why,
                       std::optional<std::int64_t> delay_ms, time_ms now) {
    ROTA_CHECK(job.state == job_state::in_progress && job.attempts != 0,
               "what is given back is in progress, and has been tried");
    const std::uint32_t attempts_max = queue.settings.max_attempts;
    const std::uint64_t seed = (job.queue << 40 | job.id) * 1'000'003 + job.attempts;
    const std::int64_t wait =
        delay_ms ? *delay_ms : backoff_ms(queue.settings.backoff, job.attempts, seed);
    job_state to = wait > 0 ? job_state::delayed : job_state::queued;
    if (attempts_max != 0 && job.attempts >= attempts_max)
        to = job_state::dead;
    const std::int64_t spent = move(queue, job, to, now);
    job.due = to == job_state::delayed ? now + wait : 0;
    if (job.due != 0)
        next_due_ = std::min(next_due_, job.due);
    job.cause = why == change_kind::expired     ? job_cause::lease_ended
                : why == change_kind::abandoned ? job_cause::abandoned
                                                : job_cause::failed;
    ++queue.counts.failures;
    queue.counts.expired += why == change_kind::expired ? 1 : 0;
    rows_.update(job, "");
    note(why, queue, &job, now, spent);
    if (to == job_state::dead)
        note(change_kind::died, queue, &job, now);
}

void ledger::put_back(const std::string& queue, const std::vector<std::string>& leases, bool sent,
                      time_ms now) {
    pass_time(now);
    queue_row* const row = find_queue(queue);
    for (const std::string& id : leases) {
        std::optional<job_row> job = leased(row, id);
        if (!job)
            continue;
        if (sent) {
            give_back(*row, *job, change_kind::abandoned, std::nullopt, now);
            continue;
        }
        move(*row, *job, job_state::queued, now);
        ROTA_CHECK(job->attempts != 0, "what is put back has been tried");
        --job->attempts;
        job->due = 0;
        rows_.update(*job, "");
        note(change_kind::abandoned, *row, &*job, now);
    }
}

extend_result ledger::extend(const std::string& queue, std::vector<std::string> leases,
                             std::int64_t lease_ms, time_ms now) {
    pass_time(now);
    extend_result result;
    queue_row* const row = find_queue(queue);
    for (std::string& id : leases) {
        std::optional<job_row> job = leased(row, id);
        if (!job) {
            result.lost.push_back(std::move(id));
            continue;
        }
        job->due = now + or_default(lease_ms, or_default(row->settings.lease_ms, limits_.lease_ms));
        next_due_ = std::min(next_due_, job->due);
        rows_.update(*job, std::nullopt);
        result.leases.push_back({std::move(id), job->due});
        note(change_kind::extended, *row, &*job, now);
    }
    return result;
}

time_ms ledger::pass_time(time_ms now) {
    if (now <= next_due_)
        return next_due_ == never ? never : next_due_ + 1;
    const std::size_t max = std::min(due_at_once, done_max_);
    for (;;) {
        std::vector<job_row> ended = rows_.due(now - 1, max);
        for (job_row& job : ended) {
            queue_row& queue = *by_number_.at(job.queue);
            if (job.state == job_state::in_progress) {
                give_back(queue, job, change_kind::expired, std::nullopt, now);
                continue;
            }
            move(queue, job, job_state::queued, now);
            job.due = 0;
            rows_.update(job, std::nullopt);
            note(change_kind::due, queue, &job, now);
        }
        if (ended.size() < max || done_max_ != SIZE_MAX)
            break;
    }
    next_due_ = rows_.next_due();
    return next_due_ == never ? never : next_due_ + 1;
}

} // namespace jobs
