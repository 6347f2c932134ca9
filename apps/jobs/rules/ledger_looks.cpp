#include <algorithm>

#include "ledger.hpp"

// What of a ledger looks at queues, and what sets them as a whole.

namespace jobs {

std::optional<queue_info> ledger::describe(const std::string& queue, time_ms now) {
    pass_time(now);
    queue_row* const row = find_queue(queue);
    if (row == nullptr)
        return std::nullopt;
    return info_of(*row);
}

queue_info ledger::info_of(queue_row& queue) {
    return {*queue.name, queue.settings, queue.counts, oldest(queue)};
}

/// Within one priority jobs were added in the order of their ids. Is looked for when the queued
/// jobs have changed: of thousands of queues few have.
std::optional<time_ms> ledger::oldest(queue_row& queue) {
    if (queue.oldest_known)
        return queue.oldest;
    std::optional<time_ms> result;
    position after;
    while (queue.counts.queued > 0 && after.rank <= priority_max) {
        const std::vector<job_row> first = rows_.list(queue.number, job_state::queued, after, 1);
        if (first.empty())
            break;
        result = std::min(result.value_or(never), first.front().added_at);
        after = {static_cast<std::uint8_t>(first.front().rank + 1), 0};
    }
    queue.oldest = result;
    queue.oldest_known = true;
    return result;
}

queue_list ledger::queues(const queues_request& what, time_ms now) {
    pass_time(now);
    queue_list result;
    for (auto each = queues_.upper_bound(what.after); each != queues_.end(); ++each) {
        if (result.queues.size() == what.limit) {
            result.more = true;
            break;
        }
        queue_row& row = each->second;
        result.queues.push_back(info_of(row));
    }
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
    info.cause = job.cause;
    info.since = job.since;
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

std::optional<ledger::found_job> ledger::find_now(const std::string& queue, std::uint64_t id,
                                                  time_ms now) {
    pass_time(now);
    queue_row* const row = find_queue(queue);
    const std::optional<job_row> job = row == nullptr ? std::nullopt : rows_.find(row->number, id);
    return job ? std::optional(found_job{row, *job}) : std::nullopt;
}

std::optional<job_info> ledger::find(const std::string& queue, std::uint64_t id, time_ms now) {
    const std::optional<found_job> found = find_now(queue, id, now);
    return found ? std::optional(info_of(found->job, now)) : std::nullopt;
}

job_list ledger::find_key(const std::string& queue, const std::string& key, std::size_t limit,
                          time_ms now) {
    pass_time(now);
    job_list result;
    const queue_row* const row = find_queue(queue);
    if (row == nullptr)
        return result;
    std::vector<job_row> found = rows_.find_dead(row->number, key, limit);
    if (const std::optional<job_row> live = rows_.find_key(row->number, key))
        found.insert(found.begin(), *live);
    std::size_t bytes = 0;
    for (const job_row& job : found) {
        if (result.jobs.size() == limit || bytes > list_request{}.payload_bytes_max)
            break;
        result.jobs.push_back(info_of(job, now));
        bytes += result.jobs.back().payload.size();
    }
    return result;
}

bool ledger::remove(const std::string& queue, std::uint64_t id, time_ms now) {
    const std::optional<found_job> found = find_now(queue, id, now);
    if (found)
        erase(*found->queue, found->job, now);
    return found.has_value();
}

void ledger::erase(queue_row& queue, job_row job, time_ms now) {
    rows_.erase(job);
    uncount(queue, job);
    job.due = 0;
    note(change_kind::deleted, queue, &job, now);
}

std::optional<queue_info> ledger::configure(const std::string& queue, const queue_settings& to,
                                            time_ms now) {
    pass_time(now);
    queue_row* const row = open_queue(queue);
    if (row == nullptr)
        return std::nullopt;
    row->settings = to;
    mark(*row);
    note(change_kind::configured, *row, nullptr, now);
    return info_of(*row);
}

std::optional<queue_info> ledger::pause(const std::string& queue, bool paused, time_ms now) {
    pass_time(now);
    queue_row* const row = open_queue(queue);
    if (row == nullptr)
        return std::nullopt;
    row->settings.paused = paused;
    mark(*row);
    note(paused ? change_kind::paused : change_kind::resumed, *row, nullptr, now);
    return info_of(*row);
}

purge_progress ledger::purge(const std::string& queue, purge_progress so_far, time_ms now) {
    pass_time(now);
    queue_row* const row = find_queue(queue);
    so_far.done = row == nullptr || (so_far.queue != 0 && so_far.queue != row->number);
    if (so_far.done)
        return so_far;
    so_far.queue = row->number;
    if (so_far.before == 0)
        so_far.before = rows_.id_to_come(*row);
    for (std::size_t left = std::min(purged_at_once, done_max_); left != 0 && !so_far.done;)
        left -= purge_some(*row, so_far, left);
    if (so_far.done)
        note(change_kind::purged, *row, nullptr, now);
    return so_far;
}

/// Goes on until there are no more of the state, or to the end of a rank; how many have been
/// removed.
std::size_t ledger::purge_some(queue_row& queue, purge_progress& at, std::size_t limit) {
    const std::vector<job_row> found = rows_.list(queue.number, at.state, at.after, limit);
    std::size_t removed = 0;
    for (const job_row& job : found) {
        if (job.id >= at.before) { // so are those behind it in its rank
            at.after = {static_cast<std::uint8_t>(job.rank + 1), 0};
            break;
        }
        at.after = {job.rank, job.id};
        rows_.erase(job);
        uncount(queue, job);
        ++at.purged;
        ++removed;
    }
    if (removed < found.size() || found.size() == limit)
        return removed; // there may be more
    at.after = {};
    switch (at.state) {
    case job_state::queued:
        at.state = job_state::delayed;
        break;
    case job_state::delayed:
        at.state = job_state::dead;
        break;
    default:
        at.done = true;
    }
    return removed;
}

revive_result ledger::retry_dead(const std::string& queue, std::uint64_t id, time_ms now) {
    const std::optional<found_job> found = find_now(queue, id, now);
    if (!found || found->job.state != job_state::dead)
        return {revive_outcome::unknown};
    return revive(*found->queue, found->job, now);
}

revive_result ledger::revive(queue_row& queue, job_row job, time_ms now) {
    if (const auto there = rows_.find_key(queue.number, rows_.key(job)))
        return {revive_outcome::duplicate, there->id, there->state};
    move(queue, job, job_state::queued, now);
    job.attempts = 0;
    job.cause = job_cause::none;
    rows_.update(job, std::nullopt);
    note(change_kind::revived, queue, &job, now);
    return {revive_outcome::revived, job.id, job_state::queued};
}

/// One without jobs that is set to nothing. False if there is none.
bool ledger::forget_unused_queue() {
    const auto unused = std::ranges::find_if(queues_, [](const auto& named) {
        const queue_counts& c = named.second.counts;
        return c.queued + c.delayed + c.in_progress + c.dead == 0 &&
               named.second.settings == queue_settings{};
    });
    if (unused == queues_.end())
        return false;
    forget(unused->second.number);
    return true;
}

void ledger::forget(std::uint64_t number) {
    rows_.erase_queue(number);
    queues_.erase(queues_.find(*by_number_.at(number)->name));
    by_number_.erase(number);
}

removed_queue ledger::remove_queue(const std::string& queue, std::uint64_t number, bool forced,
                                   time_ms now) {
    pass_time(now);
    queue_row* const row = find_queue(queue);
    if (number != 0 && (row == nullptr || row->number != number))
        return {removal::removed}; // by another; what has its name now is not what was meant
    if (row == nullptr)
        return {removal::unknown};
    if (!forced && row->counts.in_progress != 0)
        return {removal::in_progress};
    row->settings.paused = true; // nobody takes from it between two slices
    mark(*row);
    const std::size_t max = std::min(removed_at_once, done_max_);
    std::size_t left = max;
    for (const job_state state :
         {job_state::queued, job_state::delayed, job_state::in_progress, job_state::dead}) {
        const std::vector<job_row> slice = rows_.list(row->number, state, {}, left);
        for (const job_row& job : slice)
            erase(*row, job, now);
        left -= slice.size();
        if (left == 0)
            return {removal::removed, true, max, row->number};
    }
    if (!rows_.may_erase_queue())
        return {removal::removed, true, max - left, row->number};
    note(change_kind::removed, *row, nullptr, now);
    forget(row->number);
    return {removal::removed, false, max - left};
}

std::vector<job_row> ledger::dead_among(const queue_row& queue, const dead_request& what) {
    if (!what.ids)
        return rows_.list(queue.number, job_state::dead, what.after,
                          std::min(what.limit, done_max_));
    std::vector<job_row> named;
    for (const std::uint64_t id : *what.ids) {
        const std::optional<job_row> job = rows_.find(queue.number, id);
        const auto same = [id](const job_row& other) { return other.id == id; };
        if (job && job->state == job_state::dead && std::ranges::none_of(named, same))
            named.push_back(*job);
    }
    return named;
}

dead_result ledger::settle_dead(const std::string& queue, const dead_request& what, time_ms now) {
    pass_time(now);
    dead_result result;
    queue_row* const row = find_queue(queue);
    if (row == nullptr || (what.queue != 0 && what.queue != row->number))
        return result;
    result.queue = row->number;
    const std::vector<job_row> slice = dead_among(*row, what);
    result.more = !what.ids && slice.size() == std::min(what.limit, done_max_);
    for (const job_row& job : slice) {
        result.after = {job.rank, job.id};
        if (job.since >= what.before.value_or(never) ||
            (what.cause != job_cause::none && job.cause != what.cause))
            continue;
        if (what.action == dead_action::remove) {
            erase(*row, job, now);
            ++result.done;
        } else {
            const bool is_there = revive(*row, job, now).outcome == revive_outcome::duplicate;
            ++(is_there ? result.duplicates : result.done);
        }
    }
    return result;
}

} // namespace jobs
