#include "load.hpp"

#include <algorithm>
#include <optional>
#include <random>
#include <string_view>
#include <utility>

#include "jobs/rules/lease_id.hpp"
#include "statements.hpp"

namespace jobs {
namespace {

/// Of a job, unless a server is set to take larger ones.
constexpr std::size_t waste_bytes = 262'144;
constexpr std::size_t queues_seen_max = 1'000;

template <class T>
std::vector<std::optional<std::string_view>> views(const T& texts) {
    std::vector<std::optional<std::string_view>> result;
    result.reserve(texts.size());
    for (const std::string& text : texts)
        result.emplace_back(text);
    return result;
}

} // namespace

void postgres_load::take_jobs(const std::map<std::string, std::string>* keys) {
    takers_.emplace_back([this, keys](const postgres_result& r) { rows_.load_jobs(r, keys); });
}

void postgres_load::take_nothing() {
    takers_.emplace_back([](const postgres_result&) {});
}

void postgres_load::take(const std::vector<postgres_result>& results) {
    for (std::size_t i = 0; i < takers_.size(); ++i)
        takers_[i](results.at(i));
}

bool postgres_load::missed_a_queue() const {
    return std::ranges::any_of(locked_, [this](const auto& each) {
        const queue_row* const queue = rows_.queue_named(each.first);
        return queue != nullptr && queue->number != each.second;
    });
}

void postgres_load::ask_for_rows_of(const std::string& name, const postgres_needs::of_queue& what,
                                    const postgres_needs& needs) {
    const auto send = [&](const sql::prepared& statement, const auto& bind) {
        postgres_values values;
        values.add(std::string_view(name));
        bind(values);
        over_.send(statement.name, values);
    };
    const auto no_more = [](postgres_values&) {};
    if (!what.digests.empty()) {
        std::vector<std::optional<std::string_view>> digests;
        digests.reserve(what.digests.size());
        for (const auto& [digest, key] : what.digests)
            digests.emplace_back(digest);
        for (const sql::prepared* each : {&sql::lock_over, &sql::find_digests}) {
            send(*each, [&](postgres_values& v) { v.add_bytes(digests).add(needs.now); });
            take_jobs(&what.digests);
        }
    }
    if (!what.tokens.empty()) {
        send(sql::tokens_known, [&](postgres_values& v) { v.add_bytes(views(what.tokens)); });
        takers_.emplace_back([this](const postgres_result& r) { rows_.load_tokens(r); });
    }
    if (!what.leases.empty())
        ask_for_leases(name, what);
    const auto ask_for = [&](const std::optional<std::uint64_t>& id, const sql::prepared& by) {
        if (!id)
            return;
        send(by, [&](postgres_values& v) { v.add(*id); });
        take_jobs();
    };
    ask_for(what.locked_id, sql::lock_id);
    ask_for(what.read_id, sql::find_job);
    if (!what.takers.empty())
        ask_to_take(name, what.takers, needs.take_bytes_max);
    if (what.list)
        ask_for_list(name, *what.list);
    if (what.oldest) {
        send(sql::oldest_jobs, no_more);
        take_jobs();
    }
    if (what.purge)
        ask_for_purged(name, *what.purge);
    if (what.dead)
        ask_for_dead(name, *what.dead, needs.now);
    if (what.key) {
        const std::string digest = digest_of(*what.key);
        const std::vector<std::optional<std::string_view>> digests{digest};
        send(sql::find_digest, [&](postgres_values& v) { v.add_bytes(digests); });
        take_jobs();
        send(sql::find_dead_digest,
             [&](postgres_values& v) { v.add_bytes(digests).add(std::uint64_t{what.key_limit}); });
        take_jobs();
    }
    if (what.removal)
        ask_for_removed(name);
}

/// One job for each taker always fits. Else sizes have to be looked at before, unless the last jobs
/// of this queue were so small that so many of them fit: those of a queue are mostly alike. Where
/// they are not any longer, what is locked too much is given back at the end, once.
void postgres_load::ask_to_take(const std::string& name, const std::vector<std::int64_t>& takers,
                                std::uint64_t bytes_max) {
    postgres_values values;
    values.add(std::string_view(name));
    const auto most = static_cast<std::uint64_t>(std::ranges::max(takers));
    const auto seen = seen_.find(name);
    if (most == 1)
        over_.send(sql::lock_first.name, values.add(takers.size()));
    else if (seen != seen_.end() && seen->second <= bytes_max / most)
        over_.send(sql::lock_small.name, values.add(takers).add(bytes_max));
    else
        over_.send(sql::lock_to_take.name, values.add(takers).add(bytes_max));
    takers_.emplace_back([this, &name](const postgres_result& r) {
        const std::size_t largest = rows_.load_jobs(r, nullptr);
        if (r.rows() == 0)
            return;
        if (seen_.size() >= queues_seen_max)
            seen_.clear();
        seen_[name] = largest;
    });
}

/// What others have in hand is left to the next slice. Additions are counted when they are there:
/// those that have been are waited for, and seen when jobs are counted last; those that are to come
/// have to wait, and to try again if the queue is gone. They may hold keys that will have to be
/// deleted: those are waited for before.
void postgres_load::ask_for_removed(const std::string& name) {
    const auto send = [&](const sql::prepared& statement) {
        postgres_values values;
        over_.send(statement.name,
                   values.add(std::string_view(name)).add(std::uint64_t{removed_at_once}));
    };
    send(sql::lock_slice);
    takers_.emplace_back([this](const postgres_result& r) {
        rows_.load_jobs(r, nullptr);
        slice_ = r.rows();
    });
    send(sql::lock_keys_of);
    take_nothing();
    send(sql::lock_counts_of);
    takers_.emplace_back([this](const postgres_result& r) {
        for (int i = 0; i < r.rows(); ++i)
            shards_.push_back(r.integer(i, 0));
    });
    send(sql::count_slice);
    takers_.emplace_back([this](const postgres_result& r) {
        const auto counts = static_cast<std::int64_t>(shards_.size());
        if (r.integer(0, 0) == slice_ && r.integer(0, 1) == counts) // so all counts are locked
            rows_.allow_removal(std::move(shards_));
    });
}

/// What names no job is no lease: those of earlier versions, too, look as if they did.
void postgres_load::ask_for_leases(const std::string& name, const postgres_needs::of_queue& what) {
    std::vector<std::int64_t> ids;
    std::vector<std::optional<std::string_view>> whole;
    for (const std::string& lease : what.leases) {
        if (const std::optional<std::uint64_t> id = job_of_lease(lease)) {
            ids.push_back(static_cast<std::int64_t>(*id));
            whole.emplace_back(lease);
        }
    }
    if (ids.empty())
        return;
    postgres_values values;
    values.add(std::string_view(name)).add(ids).add_bytes(whole);
    values.add(static_cast<std::int64_t>(what.unsure));
    over_.send(sql::lock_leases.name, values);
    take_jobs();
}

void postgres_load::ask_for_list(const std::string& name, const list_request& what) {
    postgres_values values;
    values.add(std::string_view(name))
        .add(static_cast<std::int64_t>(what.state))
        .add(std::int64_t{what.after.rank})
        .add(what.after.id)
        .add(std::uint64_t{what.limit + 1})
        .add(std::uint64_t{what.payload_bytes_max});
    over_.send(sql::list_jobs.name, values);
    take_jobs();
}

/// Those of a state may be fewer than a step removes: then those of the next follow.
void postgres_load::ask_for_purged(const std::string& name, const purge_progress& at) {
    const position dead = at.state == job_state::dead ? at.after : position{};
    over_.send(sql::lock_purged.name,
               postgres_values()
                   .add(std::string_view(name))
                   .add(static_cast<std::int64_t>(at.state))
                   .add(std::int64_t{at.after.rank})
                   .add(at.after.id)
                   .add(at.before == 0 ? std::uint64_t{INT64_MAX} : at.before)
                   .add(std::uint64_t{purged_at_once})
                   .add(std::int64_t{dead.rank})
                   .add(dead.id));
    take_jobs();
}

void postgres_load::ask_for_dead(const std::string& name, const dead_request& what, time_ms now) {
    postgres_values values;
    values.add(std::string_view(name));
    const bool named = what.ids.has_value();
    if (named) {
        if (what.ids->empty())
            return;
        values.add(std::vector<std::int64_t>(what.ids->begin(), what.ids->end()));
    } else {
        values.add(std::int64_t{what.after.rank}).add(what.after.id);
        values.add(std::uint64_t{what.limit});
    }
    over_.send((named ? sql::lock_dead_named : sql::lock_dead).name, values);
    take_jobs();
    if (what.action == dead_action::revive) {
        values.add(now);
        over_.send((named ? sql::find_holders_named : sql::find_holders).name, values);
        take_jobs();
    }
}

/// On a disk that was full only what takes up as much as a job can tells whether there is room: it
/// is undone, and what it takes up is used again.
void postgres_load::ask_to_add(bool room) {
    over_.send(sql::add_nothing.name);
    take_nothing();
    if (!room)
        return;
    std::random_device seed; // what repeats itself is compressed
    std::minstd_rand random(seed());
    const std::int64_t id = -1 - static_cast<std::int64_t>(seed());
    std::string payload(waste_bytes, '\0');
    std::ranges::generate(payload, [&] { return static_cast<char>(random() & 0xff); });
    over_.send(sql::add_waste.name,
               postgres_values().add(id).add_bytes({std::string_view(payload)}));
    take_nothing();
}

void postgres_load::ask_for_queues(const postgres_needs& needs) {
    const auto ask = [this](const sql::prepared& by, const postgres_values& values, bool counted) {
        over_.send(by.name, values);
        takers_.emplace_back(
            [this, counted](const postgres_result& r) { rows_.load_queues(r, counted); });
    };
    for (const queues_request& page : needs.pages) {
        // With one more, so that it can be told that there are more.
        const auto limit = static_cast<std::int64_t>(page.limit) + 1;
        postgres_values values;
        values.add(std::string_view(page.after)).add(limit);
        over_.send(sql::oldest_of_page.name, values);
        take_jobs();
        ask(sql::queues_page, values, true);
    }
    std::vector<std::string> names;
    std::vector<std::string> counted;
    for (const auto& [name, what] : needs.queues)
        (what.counts ? counted : names).push_back(name);
    if (!names.empty())
        ask(sql::queues_named, postgres_values().add_texts(names), false);
    if (!counted.empty())
        ask(sql::queues_counted, postgres_values().add_texts(counted), true);
}

/// Counts come last: they are then not behind any of the rows.
void postgres_load::ask_for(const postgres_needs& needs, bool with_due,
                            const std::set<std::string>& in_turns) {
    over_.send(sql::begin.name);
    take_nothing();
    if (with_due) {
        over_.send(sql::any_due.name, postgres_values().add(needs.now));
        takers_.emplace_back([this](const postgres_result& r) { due_ = r.rows() != 0; });
    }
    for (const auto& [name, what] : needs.queues) {
        if (what.settings || (!what.digests.empty() && in_turns.contains(name))) {
            over_.send(sql::lock_queue.name, postgres_values().add(std::string_view(name)));
            takers_.emplace_back([this, &name](const postgres_result& r) {
                locked_[name] = r.rows() == 0 ? 0 : static_cast<std::uint64_t>(r.integer(0, 0));
            });
        }
    }
    for (const auto& [name, what] : needs.queues)
        ask_for_rows_of(name, what, needs);
    if (needs.next_due) {
        over_.send(sql::next_due.name, postgres_values().add(needs.now));
        take_jobs();
    }
    if (needs.to_add)
        ask_to_add(needs.room);
    if (needs.ids != 0) {
        over_.send(sql::new_ids.name, postgres_values().add(std::uint64_t{needs.ids}));
        takers_.emplace_back([this](const postgres_result& r) { rows_.load_ids(r); });
    }
    ask_for_queues(needs);
}

} // namespace jobs
