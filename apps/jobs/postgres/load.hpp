#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "connection.hpp"
#include "needs.hpp"
#include "table.hpp"

namespace jobs {

/// The beginning of a transaction: asks for the rows that steps need, in the order in which all
/// transactions lock them, and takes what comes. For one routine at a time.
class postgres_load {
public:
    /// By their queues, how large the largest payload was that was taken last.
    using sizes_seen = std::map<std::string, std::size_t>;

    /// `over` and `seen` outlive it.
    postgres_load(postgres_connection& over, sizes_seen& seen) noexcept
        : over_(over), seen_(seen) {}
    postgres_load(const postgres_load&) = delete;
    postgres_load& operator=(const postgres_load&) = delete;

    /// Sends BEGIN and what follows. `with_due`: also whether anything is to be ended first.
    /// `in_turns`: queues which one at a time adds to. `needs` outlives take().
    void ask_for(const postgres_needs& needs, bool with_due, const std::set<std::string>& in_turns);
    /// What the server has answered.
    void take(const std::vector<postgres_result>& results);

    [[nodiscard]] postgres_table& rows() noexcept { return rows_; }
    [[nodiscard]] bool due() const noexcept { return due_; }
    /// True if a queue has been removed, and made again, while its row was waited for: it is not
    /// locked then.
    [[nodiscard]] bool missed_a_queue() const;

private:
    void ask_for_rows_of(const std::string& name, const postgres_needs::of_queue& what,
                         const postgres_needs& needs);
    void ask_to_take(const std::string& name, const std::vector<std::int64_t>& takers,
                     std::uint64_t bytes_max);
    void ask_for_leases(const std::string& name, const postgres_needs::of_queue& what);
    void ask_for_list(const std::string& name, const list_request& what);
    void ask_for_dead(const std::string& name, const dead_request& what, time_ms now);
    void ask_for_purged(const std::string& name, const purge_progress& at);
    void ask_for_removed(const std::string& name);
    void ask_to_add(bool room);
    void ask_for_queues(const postgres_needs& needs);
    void take_jobs(const std::map<std::string, std::string>* keys = nullptr);
    void take_nothing();

    postgres_connection& over_;
    sizes_seen& seen_;
    postgres_table rows_;
    bool due_ = false;
    std::map<std::string, std::uint64_t> locked_; // the numbers of queues, 0: it was not there
    // Jobs, and rows of counts, of a queue to be removed that are in hand.
    std::int64_t slice_ = 0;
    std::vector<std::int64_t> shards_;
    std::vector<std::function<void(const postgres_result&)>> takers_; // one for each statement
};

} // namespace jobs
