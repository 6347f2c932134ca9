#include <cstddef>
#include <utility>
#include <variant>

#include "memory_table.hpp"

// What stays of a memory_table's changes, and what is undone.

namespace jobs {
namespace {

constexpr std::size_t undo_kept_max = 4'096; // places for so many changes stay allocated

} // namespace

void memory_table::commit() noexcept {
    for (change& each : undo_) {
        const auto* const gone = std::get_if<erased_queue>(&each);
        if (gone == nullptr)
            continue;
        shelves_.erase(gone->number);
        std::erase_if(token_ends_, [&](const auto& e) { return e.second.first == gone->number; });
        tokens_.erase(tokens_.lower_bound({gone->number, ""}),
                      tokens_.lower_bound({gone->number + 1, ""}));
    }
    undo_.clear();
    if (undo_.capacity() > undo_kept_max)
        undo_ = std::vector<change>();
}

void memory_table::roll_back() noexcept {
    for (; !undo_.empty(); undo_.pop_back())
        std::visit([this](auto& what) { undo(what); }, undo_.back());
}

void memory_table::undo(added_job& what) noexcept {
    const auto job = what.in->jobs.find(what.id);
    spare_nodes nodes;
    take_out(*what.in, job->second, nodes);
    memory_bytes_ -= job->second.memory_bytes();
    what.in->jobs.erase(job);
}

void memory_table::undo(changed_job& what) noexcept {
    take_out(*what.in, *what.job, what.nodes);
    what.job->row = what.before;
    put(*what.in, *what.job, what.nodes);
    if (what.leased)
        lease_as(*what.job, what.lease, what.nodes);
}

void memory_table::undo(changed_error& what) noexcept { set_error(*what.job, what.before); }

void memory_table::undo(erased_job& what) noexcept {
    entry& job = what.in->jobs.insert(std::move(what.job)).position->second;
    memory_bytes_ += job.memory_bytes();
    put(*what.in, job, what.nodes);
    if (!what.nodes.lease.empty())
        leases_.insert(std::move(what.nodes.lease));
}

void memory_table::undo(added_queue& what) noexcept { queues_.erase(what.number); }

void memory_table::undo(saved_queue& what) noexcept {
    queue_row& kept = queues_.find(what.before.number)->second;
    kept = std::move(what.before);
}

void memory_table::undo(erased_queue& what) noexcept {
    if (!what.row.empty())
        queues_.insert(std::move(what.row));
}

void memory_table::undo(added_token& what) noexcept {
    const auto token = tokens_.find(what.name);
    token_ends_.erase(end_of(token));
    tokens_.erase(token);
}

void memory_table::undo(dropped_token& what) noexcept {
    tokens_.insert(std::move(what.token));
    token_ends_.insert(std::move(what.end));
}

} // namespace jobs
