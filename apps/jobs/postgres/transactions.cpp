#include "transactions.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <optional>
#include <random>
#include <string_view>
#include <utility>

#include <rota/errors.hpp>
#include <rota/routine.hpp>
#include <rota/sleep.hpp>
#include <rota/worker.hpp>

#include "load.hpp"
#include "statements.hpp"

namespace jobs {
namespace {

constexpr std::size_t ended_at_once = 1'000;
/// How often a transaction is run that others get in the way of.
constexpr int sends_max = 20;
/// Room in a queue below which additions take turns, so that its limit is kept to the job. More
/// than what all connections together add at once.
constexpr std::uint64_t room_for_all = 20'000;
/// How long, and how often, a plan is used at least.
constexpr std::chrono::seconds plans_last{1};
constexpr int plans_serve = 50;

/// Of a transaction that has been undone only because of others (SQLSTATE): serialization failure,
/// deadlock, lock not had in time, unique key, foreign key (a queue that was dropped).
bool may_try_again(const std::string& code) {
    constexpr std::array<std::string_view, 5> codes{"40001", "40P01", "55P03", "23505", "23503"};
    return std::ranges::find(codes, code) != codes.end();
}

/// Of a commit: certainly nothing has been done.
bool certainly_undone(const std::string& code) {
    return code.starts_with("40") || code.starts_with("23");
}

/// What another connection may do: this one's server takes no changes, or does not know our
/// statements or tables any more.
bool needs_another_session(const std::string& code) {
    return code == "25006" || code == "26000" || code == "42P01";
}

/// Whether jobs whose time is over are to be ended first, all of them. What adds jobs, and what
/// becomes of leases, asks for certain jobs only: of those the rules end what is over.
bool looks_for_due(step_kind kind) { return kind != step_kind::adds && kind != step_kind::leases; }

std::chrono::milliseconds pause_before(int attempt) {
    thread_local std::minstd_rand random(std::random_device{}());
    const int most = std::min(1 << std::min(attempt, 8), 200);
    return std::chrono::milliseconds(static_cast<int>(random() % static_cast<unsigned>(most)));
}

} // namespace

postgres_transactions::postgres_transactions(postgres_connection& over, store_limits limits,
                                             id_source lease_ids, std::int64_t shard,
                                             token_walk& tokens, teller tell)
    : over_(over), limits_(limits), lease_ids_(std::move(lease_ids)), shard_(shard),
      tokens_(tokens), tell_(std::move(tell)) {}

// --- Before the rules ---

std::vector<std::string> postgres_transactions::missing(const postgres_needs& needs,
                                                        const postgres_table& rows) const {
    std::vector<std::string> result;
    for (const auto& [name, what] : needs.queues) {
        if (what.open && rows.queue_named(name) == nullptr && !refused_.contains(name))
            result.push_back(name);
    }
    return result;
}

/// True if an addition that has not taken turns should have.
bool postgres_transactions::crowded(const postgres_needs& needs, const postgres_table& rows) {
    bool result = false;
    for (const auto& [name, what] : needs.queues) {
        const queue_row* const queue = rows.queue_named(name);
        if (what.digests.empty() || queue == nullptr)
            continue;
        const queue_counts& c = queue->counts;
        const std::uint64_t limit =
            queue->settings.max_jobs != 0 ? queue->settings.max_jobs : limits_.jobs_max;
        const std::uint64_t there = c.queued + c.delayed + c.in_progress + c.dead;
        if (there + what.digests.size() + room_for_all < limit) {
            crowded_.erase(name);
        } else {
            result |= crowded_.insert(name).second;
        }
    }
    return result;
}

// --- One transaction ---

rota::task<postgres_transactions::verdict>
postgres_transactions::attempt(const step_line* steps, const postgres_needs* needs,
                               bool due_ended) {
    const step_kind kind = kind_of(steps->front()->what());
    const bool reading = kind == step_kind::reading || kind == step_kind::looks;
    postgres_load loaded(over_, sizes_seen_);
    loaded.ask_for(*needs, !due_ended && looks_for_due(kind), crowded_);
    if (reading)
        over_.send((needs->room ? sql::roll_back : sql::commit).name);
    rota::task<std::vector<postgres_result>> bringing = reading ? over_.sync() : over_.flush();
    const std::vector<postgres_result> results = co_await std::move(bringing);
    require_ok(results);
    loaded.take(results);
    if (loaded.due())
        co_return verdict::end_due;
    if (loaded.missed_a_queue())
        co_return verdict::conflict;
    missing_ = missing(*needs, loaded.rows());
    if (!missing_.empty())
        co_return verdict::make_queues;
    if (crowded(*needs, loaded.rows()))
        co_return verdict::again;
    store_limits limits = limits_;
    limits.queues_max = 0; // those that may be made have been made
    ledger rules(loaded.rows(), limits, lease_ids_);
    for (store_step* each = steps->front(); each != nullptr; each = each->waits.next)
        each->run(rules, true);
    rules.flush();
    if (reading)
        co_return verdict::done; // another session ends what else is due
    const verdict result = co_await commit(&loaded.rows(), needs->now, &committing_);
    if (result == verdict::done) {
        new_tokens_ += loaded.rows().tokens_added();
        without_queue_ = loaded.rows().erased_queues();
        tell_(rules.take_changes());
    }
    co_return result;
}

rota::task<postgres_transactions::verdict>
postgres_transactions::commit(postgres_table* rows, time_ms now, bool* committing) {
    const std::vector<postgres_table::expected> expected = rows->write(over_, shard_, now);
    if (!expected.empty()) {
        const std::vector<postgres_result> results = co_await over_.flush();
        require_ok(results);
        for (const postgres_table::expected& each : expected) {
            if (results.at(each.statement).affected() != each.rows)
                co_return verdict::conflict; // another server has added it meanwhile
        }
    }
    *committing = true;
    over_.send(sql::commit.name);
    const std::vector<postgres_result> results = co_await over_.sync();
    // If anything before the commit was refused there was none.
    *committing = std::all_of(results.begin(), results.end() - 1,
                              [](const postgres_result& r) { return r.ok(); });
    require_ok(results);
    if (results.back().tag() != "COMMIT")
        throw statement_refused("the job store's server has not committed", "40000");
    *committing = false;
    co_return verdict::done;
}

/// What attempt() has asked for.
rota::task<postgres_transactions::verdict>
postgres_transactions::prepare(verdict asked, const postgres_needs* needs, bool alone) {
    if (asked == verdict::end_due) {
        over_.set_deadline(until_ + step_needs); // what has been begun is not cut short
        std::size_t ended = 0;
        do {
            if (std::chrono::steady_clock::now() >= until_)
                throw statement_refused("the job store has many leases to end first: try again",
                                        "57014");
            ended = co_await end_some(needs->now);
        } while (ended != 0);
        over_.set_deadline(until_);
    }
    if (asked == verdict::make_queues) {
        for (const std::string& name : missing_) {
            const bool made = co_await make_queue(name, alone);
            if (!made && !alone)
                throw not_together("there are too many queues");
            if (!made)
                refused_.insert(name);
        }
    }
    co_return verdict::done;
}

rota::task<void> postgres_transactions::run(const step_line* steps) {
    committing_ = false; // also if there is no memory to begin
    return run_all(steps);
}

rota::task<void> postgres_transactions::run_all(const step_line* steps) {
    postgres_needs needs;
    until_ = std::chrono::steady_clock::time_point::max();
    for (const store_step* each = steps->front(); each != nullptr; each = each->waits.next) {
        needs.include(each->what(), limits_);
        until_ = std::min(until_, each->waits.until);
    }
    refused_.clear();
    // A step may have been put off for long: each still gets what it needs.
    until_ = std::max(until_, std::chrono::steady_clock::now() + step_needs);
    over_.set_deadline(until_);
    co_await plan_anew();
    bool due_ended = false;
    for (int tries = 0; tries < sends_max;) {
        verdict what = co_await guard(attempt(steps, &needs, due_ended));
        if (what == verdict::done)
            break;
        if (what != verdict::conflict) {
            due_ended |= what == verdict::end_due;
            const bool alone = steps->front()->waits.next == nullptr;
            what = co_await guard(prepare(what, &needs, alone));
        }
        if (what == verdict::conflict) {
            if (++tries == sends_max)
                throw store_error("too many are at work on the same jobs in the job store: try "
                                  "again");
            co_await rota::sleep_for(pause_before(tries));
        }
    }
    try {
        co_await drop_tokens();
        co_await trim_tokens(needs.now);
    } catch (...) { // what has been done stays so whatever becomes of this
        over_.close();
    }
}

/// Runs a transaction. Unless it is done the connection is left without one: rolled back, or
/// closed. Tells conflicts from failures, and what is known from what is not.
rota::task<postgres_transactions::verdict>
postgres_transactions::guard(rota::task<verdict> transaction) {
    committing_ = false;
    verdict result = verdict::conflict;
    std::optional<statement_refused> refusal;
    std::string why;
    store_fault kind = store_fault::unreachable;
    try {
        result = co_await std::move(transaction);
        if (result == verdict::done)
            co_return result;
    } catch (const statement_refused& e) {
        committing_ = committing_ && !certainly_undone(e.code());
        why = e.what();
        if (may_try_again(e.code())) {
            result = verdict::conflict;
        } else if (needs_another_session(e.code())) {
            over_.close();
            kind = e.kind();
        } else {
            refusal = e;
        }
    } catch (const connection_lost& e) {
        why = e.what();
    } catch (const rota::operation_cancelled&) {
        over_.close();
        if (!committing_)
            throw;
        why = "this program ends";
    } catch (const not_together&) { // its transaction has ended
        throw;
    } catch (...) {
        over_.close();
        throw;
    }
    if (committing_) {
        over_.close();
        throw outcome_unknown("it is not known whether this has been done: the job store's server "
                              "was asked to commit and has not said that it did (" +
                              why + ')');
    }
    if (!over_.is_open())
        throw connection_lost(why, kind);
    co_await over_.roll_back();
    if (refusal)
        throw statement_refused(*refusal);
    co_return result;
}

// --- What is due ---

/// Others may be at it, too: each takes what nobody has in hand.
rota::task<std::size_t> postgres_transactions::end_some(time_ms now) {
    over_.send(sql::begin.name);
    over_.send(sql::lock_due.name,
               postgres_values().add(now).add(static_cast<std::int64_t>(ended_at_once)));
    const std::vector<postgres_result> locked = co_await over_.flush();
    require_ok(locked);
    const postgres_result& due = locked.at(1);
    postgres_table rows;
    rows.load_jobs(due, nullptr);
    if (due.rows() == 0) { // others have it in hand
        over_.send(sql::commit.name);
        const std::vector<postgres_result> ended = co_await over_.sync();
        require_ok(ended);
        co_return 0;
    }
    std::set<std::string> names;
    for (int i = 0; i < due.rows(); ++i)
        names.emplace(due.text(i, 17));
    over_.send(sql::queues_named.name, postgres_values().add_texts({names.begin(), names.end()}));
    const std::vector<postgres_result> counts = co_await over_.flush();
    require_ok(counts);
    rows.load_queues(counts.at(0), false);
    ledger rules(rows, limits_, lease_ids_);
    rules.pass_time(now);
    rules.flush();
    bool ignored = false; // done or not: it is not what has been asked for
    (void)co_await commit(&rows, now, &ignored);
    tell_(rules.take_changes());
    co_return static_cast<std::size_t>(due.rows());
}

// --- Queues ---

/// False if there are too many, unused ones counted unless it `may_drop` those: steps that are done
/// together would drop each other's. Sessions that make queues take turns, so that the limit holds.
rota::task<bool> postgres_transactions::make_queue(std::string name, bool may_drop) {
    over_.send(sql::begin.name);
    over_.send(sql::lock_schema.name);
    over_.send(sql::count_queues.name);
    const std::vector<postgres_result> counted = co_await over_.flush();
    require_ok(counted);
    bool room = counted.at(2).integer(0, 0) < static_cast<std::int64_t>(limits_.queues_max);
    std::optional<std::int64_t> dropped;
    if (!room && may_drop) {
        dropped = co_await drop_unused_queue();
        room = dropped.has_value();
    }
    if (room)
        over_.send(sql::make_queue.name, postgres_values().add(std::string_view(name)));
    over_.send(sql::commit.name);
    const std::vector<postgres_result> ended = co_await over_.sync();
    require_ok(ended);
    if (dropped)
        without_queue_.push_back(*dropped);
    co_await drop_tokens();
    co_return room;
}

/// One without jobs and settings; its number. A job that is added to it meanwhile is counted in
/// rows which refer to the queue, so either this waits and sees the job, or the adding is run
/// again.
rota::task<std::optional<std::int64_t>> postgres_transactions::drop_unused_queue() {
    over_.send(sql::lock_unused.name);
    const std::vector<postgres_result> found = co_await over_.flush();
    require_ok(found);
    if (found.at(0).rows() == 0)
        co_return std::nullopt;
    const std::int64_t number = found.at(0).integer(0, 0);
    over_.send(sql::lock_counts.name, postgres_values().add(number));
    over_.send(sql::still_unused.name, postgres_values().add(number));
    const std::vector<postgres_result> looked = co_await over_.flush();
    require_ok(looked);
    if (looked.at(1).rows() == 0)
        co_return std::nullopt;
    std::vector<std::int64_t> shards;
    for (int i = 0; i < looked.at(0).rows(); ++i)
        shards.push_back(looked.at(0).integer(i, 0));
    drop_queue(over_, number, shards);
    co_return number;
}

// --- Tokens ---

/// What has been planned for small tables does not fit large ones, and the server notices only when
/// it counts their rows, which may take it a minute.
rota::task<void> postgres_transactions::plan_anew() {
    rota::routine& self = co_await rota::current_routine;
    if (++planned_for_ < plans_serve || self.home().now() < plan_at_)
        co_return;
    planned_for_ = 0;
    plan_at_ = self.home().now() + plans_last;
    over_.send_text("DISCARD PLANS");
    (void)co_await over_.sync(); // not every engine knows it
}

/// Those of queues that are gone. What is left if that fails is trimmed when its time is over.
rota::task<void> postgres_transactions::drop_tokens() {
    for (const std::int64_t number : std::exchange(without_queue_, {})) {
        over_.send(sql::drop_tokens.name, postgres_values().add(number));
        (void)co_await over_.sync();
    }
}

/// Now and then, beside an addition.
rota::task<void> postgres_transactions::trim_tokens(time_ms now) {
    const auto slice = tokens_.next(std::exchange(new_tokens_, 0));
    if (!slice)
        co_return;
    over_.send(sql::count_tokens.name, postgres_values().add(slice->before).add(slice->rows));
    const std::vector<postgres_result> counted = co_await over_.sync();
    if (!counted.front().ok())
        co_return;
    tokens_.seen(*slice, static_cast<std::uint64_t>(counted.front().integer(0, 0)),
                 counted.front().integer(0, 1));
    const time_ms until = std::max(now, tokens_.beyond());
    over_.send(sql::trim_tokens.name, postgres_values().add(until).add(token_walk::trim_rows));
    const std::vector<postgres_result> gone = co_await over_.sync();
    if (gone.front().ok())
        tokens_.trimmed(until, gone.front().affected());
}

} // namespace jobs
