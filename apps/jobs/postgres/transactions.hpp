#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <rota/task.hpp>

#include "connection.hpp"
#include "jobs/rules/ledger.hpp"
#include "load.hpp"
#include "needs.hpp"
#include "step.hpp"
#include "table.hpp"
#include "token_walk.hpp"

namespace jobs {

/// The server may have done what was asked, or not: the connection broke before it said so.
class outcome_unknown : public store_error {
public:
    explicit outcome_unknown(const std::string& why) : store_error(why, store_fault::unknown) {}
};

/// Some of the steps cannot be done with the others.
class not_together : public store_error {
public:
    using store_error::store_error;
};

/// Does steps over one connection, each batch in one transaction: brings and locks the rows that
/// they need, runs the rules over them, writes what has changed, commits. What other servers do at
/// the same time is kept apart by the locks and the unique indexes; where two got into each other's
/// way the transaction is undone and run again. Works under READ COMMITTED and anything stricter.
/// For one routine at a time.
class postgres_transactions {
public:
    /// Told what is in force.
    using teller = std::function<void(const std::vector<change>&)>;

    /// `over` and `tokens` outlive it. `shard`: where it adds up its counts.
    postgres_transactions(postgres_connection& over, store_limits limits, id_source lease_ids,
                          std::int64_t shard, token_walk& tokens, teller tell);

    /// Does the steps, of one kind, which stay there, and tells; done() is left to the caller.
    /// Throws, nothing having been done: connection_lost, statement_refused, not_together,
    /// store_error; else outcome_unknown. After any other exception the connection may be in the
    /// middle of something.
    rota::task<void> run(const step_line* steps);
    /// After run() has thrown: whether the steps may have been done nevertheless.
    [[nodiscard]] bool may_be_done() const noexcept { return committing_; }

private:
    rota::task<void> run_all(const step_line* steps);
    enum class verdict : std::uint8_t {
        done,
        end_due,     ///< what is due has to be ended first
        make_queues, ///< there are queues to be made first
        again,       ///< as it is
        conflict,    ///< others were in the way
    };
    rota::task<verdict> guard(rota::task<verdict> transaction);
    rota::task<verdict> attempt(const step_line* steps, const postgres_needs* needs,
                                bool due_ended);
    rota::task<verdict> commit(postgres_table* rows, time_ms now, bool* committing);
    rota::task<verdict> prepare(verdict asked, const postgres_needs* needs, bool alone);
    [[nodiscard]] std::vector<std::string> missing(const postgres_needs& needs,
                                                   const postgres_table& rows) const;
    [[nodiscard]] bool crowded(const postgres_needs& needs, const postgres_table& rows);
    rota::task<std::size_t> end_some(time_ms now);
    rota::task<bool> make_queue(std::string name, bool may_drop);
    rota::task<std::optional<std::int64_t>> drop_unused_queue();
    rota::task<void> drop_tokens();
    rota::task<void> trim_tokens(time_ms now);
    rota::task<void> plan_anew();

    postgres_connection& over_;
    const store_limits limits_;
    const id_source lease_ids_;
    const std::int64_t shard_;
    token_walk& tokens_;
    const teller tell_;
    postgres_load::sizes_seen sizes_seen_;
    std::set<std::string> crowded_;    // queues with little room left: additions take turns
    std::set<std::string> refused_;    // there are too many queues for these
    std::vector<std::string> missing_; // to be made
    bool committing_ = false;          // the server has been asked to
    std::chrono::steady_clock::time_point until_{};   // the steps are to be answered
    std::size_t new_tokens_ = 0;                      // of the transactions just done
    std::vector<std::int64_t> without_queue_;         // whose tokens are to be dropped
    std::chrono::steady_clock::time_point plan_at_{}; // anew, at the earliest
    int planned_for_ = 0;                             // how often plans have been used
};

} // namespace jobs
