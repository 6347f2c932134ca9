#include <algorithm>

#include "ledger.hpp"

// What of a ledger looks at queues, and what sets them as a whole.

namespace jobs {

std::optional<queue_info> ledger::describe(const std::string& queue, time_ms now) {
    pass_time(now);
    const queue_row* const row = find_queue(queue);
    if (row == nullptr)
        return std::nullopt;
    return queue_info{queue, row->settings, row->counts, oldest(*row)};
}

/// Within one priority jobs were added in the order of their ids.
std::optional<time_ms> ledger::oldest(const queue_row& queue) {
    std::optional<time_ms> result;
    position after;
    while (queue.counts.queued > 0 && after.rank <= priority_max) {
        const std::vector<job_row> first = rows_.list(queue.number, job_state::queued, after, 1);
        if (first.empty())
            break;
        result = std::min(result.value_or(never), first.front().added_at);
        after = {static_cast<std::uint8_t>(first.front().rank + 1), 0};
    }
    return result;
}

std::vector<queue_info> ledger::queues(time_ms now) {
    pass_time(now);
    std::vector<queue_info> result;
    result.reserve(queues_.size());
    for (const auto& [name, row] : queues_)
        result.push_back({name, row.settings, row.counts, oldest(row)});
    return result;
}

job_info ledger::info_of(const job_row& job, time_ms now) {
    job_texts texts = rows_.texts(job);
    job_info info;
    info.id = job.id;
    info.key = std::move(texts.key);
    info.payload = std::move(texts.payload);
    info.error = std::move(texts.error);
    info.state = job.state;
    info.priority = priority_max - job.rank;
    info.attempts = job.attempts;
    info.duplicates = job.duplicates;
    info.added_at = job.added_at;
    info.due_at = job.due;
    info.queued_ms = job.queued_ms;
    info.in_progress_ms = job.in_progress_ms;
    const std::int64_t so_far = std::max<std::int64_t>(now - job.since, 0);
    if (job.state == job_state::in_progress) {
        info.in_progress_ms += so_far;
    } else if (job.state != job_state::dead) {
        info.queued_ms += so_far;
    }
    return info;
}

job_list ledger::list(const std::string& queue, const list_request& what, time_ms now) {
    pass_time(now);
    job_list result;
    const queue_row* const row = find_queue(queue);
    if (row == nullptr)
        return result;
    std::size_t bytes = 0;
    for (const job_row& job : rows_.list(row->number, what.state, what.after, what.limit + 1)) {
        if (result.jobs.size() == what.limit || bytes > what.payload_bytes_max) {
            result.more = true;
            break;
        }
        result.jobs.push_back(info_of(job, now));
        bytes += result.jobs.back().payload.size();
    }
    return result;
}

std::optional<job_info> ledger::find(const std::string& queue, std::uint64_t id, time_ms now) {
    pass_time(now);
    const queue_row* const row = find_queue(queue);
    const std::optional<job_row> job = row == nullptr ? std::nullopt : rows_.find(row->number, id);
    if (!job)
        return std::nullopt;
    return info_of(*job, now);
}

bool ledger::remove(const std::string& queue, std::uint64_t id, time_ms now) {
    pass_time(now);
    queue_row* const row = find_queue(queue);
    std::optional<job_row> job = row == nullptr ? std::nullopt : rows_.find(row->number, id);
    if (!job)
        return false;
    rows_.erase(*job);
    --count(*row, job->state);
    job->due = 0;
    note(change_kind::deleted, *row, &*job, now);
    return true;
}

bool ledger::configure(const std::string& queue, const queue_settings& to, time_ms now) {
    pass_time(now);
    queue_row* const row = open_queue(queue);
    if (row == nullptr)
        return false;
    row->settings = to;
    mark(*row);
    note(change_kind::configured, *row, nullptr, now);
    return true;
}

bool ledger::pause(const std::string& queue, bool paused, time_ms now) {
    pass_time(now);
    queue_row* const row = open_queue(queue);
    if (row == nullptr)
        return false;
    row->settings.paused = paused;
    mark(*row);
    note(paused ? change_kind::paused : change_kind::resumed, *row, nullptr, now);
    return true;
}

std::uint64_t ledger::purge(const std::string& queue, time_ms now) {
    pass_time(now);
    queue_row* const row = find_queue(queue);
    if (row == nullptr)
        return 0;
    std::uint64_t purged = 0;
    for (const job_state state : {job_state::queued, job_state::delayed, job_state::dead}) {
        rows_.erase_all(row->number, state);
        purged += std::exchange(count(*row, state), 0);
    }
    note(change_kind::purged, *row, nullptr, now);
    return purged;
}

revived ledger::retry_dead(const std::string& queue, std::uint64_t id, time_ms now) {
    pass_time(now);
    queue_row* const row = find_queue(queue);
    std::optional<job_row> job = row == nullptr ? std::nullopt : rows_.find(row->number, id);
    if (!job || job->state != job_state::dead)
        return {revive_outcome::unknown};
    if (const auto there = rows_.find_key(row->number, rows_.texts(*job).key))
        return {revive_outcome::duplicate, there->id, there->state};
    move(*row, *job, job_state::queued, now);
    job->attempts = 0;
    rows_.update(*job, std::nullopt);
    note(change_kind::revived, *row, &*job, now);
    return {revive_outcome::revived, id, job_state::queued};
}

} // namespace jobs
