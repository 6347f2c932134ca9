#include "lease_book.hpp"

#include <utility>

namespace jobs {

bool lease_book::add(std::string id, const job_queue& queue, job_queue::lease job,
                     time_point deadline) {
    const std::lock_guard guard(lock_);
    const auto place = ends_.emplace(deadline, std::string_view());
    try {
        const auto [at, added] =
            leases_.try_emplace(std::move(id), entry{&queue, std::move(job), place});
        place->second = at->first;
    } catch (...) {
        ends_.erase(place);
        throw;
    }
    return place == ends_.begin();
}

std::optional<job_queue::lease> lease_book::remove(std::string_view id, const job_queue& queue) {
    const std::lock_guard guard(lock_);
    const auto found = leases_.find(id);
    if (found == leases_.end() || found->second.queue != &queue)
        return std::nullopt;
    job_queue::lease job = std::move(found->second.job);
    ends_.erase(found->second.place);
    leases_.erase(found);
    return job;
}

std::vector<job_queue::lease> lease_book::remove_ended(time_point now) {
    std::vector<job_queue::lease> ended;
    const std::lock_guard guard(lock_);
    while (!ends_.empty() && ends_.begin()->first <= now) {
        const auto held = leases_.find(ends_.begin()->second);
        ended.push_back(std::move(held->second.job));
        ends_.erase(ends_.begin());
        leases_.erase(held);
    }
    return ended;
}

lease_book::time_point lease_book::next_end() const {
    const std::lock_guard guard(lock_);
    return ends_.empty() ? time_point::max() : ends_.begin()->first;
}

std::size_t lease_book::size() const {
    const std::lock_guard guard(lock_);
    return leases_.size();
}

} // namespace jobs
