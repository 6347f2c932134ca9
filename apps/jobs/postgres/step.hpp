#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jobs/rules/ledger.hpp"
#include "jobs/store.hpp"

namespace jobs {

/// Which rows the rules will ask for: what a transaction has to bring, and to lock.
struct postgres_needs {
    struct of_queue {
        bool open = false;                          ///< it is to be there
        bool settings = false;                      ///< they will change
        bool counts = false;                        ///< of all its jobs, not of those in hand
        std::map<std::string, std::string> digests; ///< keys to be added, by their digests
        std::vector<std::string> tokens;
        std::vector<std::string> leases;
        std::optional<std::uint64_t> locked_id;
        std::optional<std::uint64_t> read_id;
        std::size_t take_max = 0;
        std::uint64_t take_bytes = 0;
        std::optional<list_request> list;
        std::optional<dead_request> dead;
        std::optional<std::string> key; ///< its holder, a dead job too
        std::size_t key_limit = 0;      ///< of them
        bool removal = false;           ///< of the queue, if no more than a slice is left
        bool oldest = false;
        std::optional<purge_progress> purge; ///< its next step
    };
    std::map<std::string, of_queue> queues; ///< in the order in which their rows are locked
    std::size_t ids = 0;                    ///< for new jobs
    std::vector<queues_request> pages;      ///< of queues, each once
    bool next_due = false;
    time_ms now = 0;
};

/// What may be done together, in one transaction.
enum class step_kind : std::uint8_t {
    adds,
    takes,
    leases,  ///< what becomes of them
    single,  ///< by itself
    reading, ///< by itself, changing nothing
    looks,   ///< at queues, changing nothing: calls at one time are answered from one reading
};
inline constexpr std::size_t step_kinds = 6;

/// How long a step may take in all, from when it is asked for, and how much of that has to be left
/// for it to be begun.
inline constexpr std::chrono::seconds step_limit{15};
inline constexpr std::chrono::seconds step_needs{3};

/// One call of the store on its way through it: need() and run() as often as it is tried, then
/// done() once, after which it may be gone.
class postgres_step {
public:
    postgres_step(step_kind kind, std::size_t weight) noexcept : kind_(kind), weight_(weight) {}
    postgres_step(const postgres_step&) = delete;
    postgres_step& operator=(const postgres_step&) = delete;

    [[nodiscard]] step_kind kind() const noexcept { return kind_; }
    /// How many jobs it is about.
    [[nodiscard]] std::size_t weight() const noexcept { return weight_; }

    /// By when it is to be answered, whatever the server does.
    [[nodiscard]] std::chrono::steady_clock::time_point until() const noexcept { return until_; }
    /// Until when it can be begun, or tried again.
    [[nodiscard]] std::chrono::steady_clock::time_point begins_by() const noexcept {
        return until_ - step_needs;
    }

    virtual void need(postgres_needs& all) const = 0;
    virtual void run(ledger& on) = 0;
    /// It is in force, or has not been done because of `error`.
    virtual void done(std::exception_ptr error) noexcept = 0;

    int broken = 0; ///< how many connections have broken with it; the holder's

protected:
    ~postgres_step() = default;

private:
    const step_kind kind_;
    const std::size_t weight_;
    const std::chrono::steady_clock::time_point until_ =
        std::chrono::steady_clock::now() + step_limit;
};

} // namespace jobs
