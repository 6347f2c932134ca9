#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jobs/rules/operations.hpp"

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
        bool unsure = false; ///< what makes these may not have ended
        std::optional<std::uint64_t> locked_id;
        std::optional<std::uint64_t> read_id;
        std::vector<std::int64_t> takers; ///< how many jobs each may have
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
    std::uint64_t take_bytes_max = 0;       ///< payloads for one taker
    bool next_due = false;
    bool to_add = false; ///< nothing but that jobs could be added
    bool room = false;   ///< for one job of the largest size, on the disk; with `to_add`
    time_ms now = 0;

    /// Adds what an operation needs. `limits` are the store's.
    void include(const operations::any& what, const store_limits& limits);
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
[[nodiscard]] step_kind kind_of(const operations::any& what) noexcept;
/// How many jobs it is about.
[[nodiscard]] std::size_t weight_of(const operations::any& what) noexcept;

} // namespace jobs
