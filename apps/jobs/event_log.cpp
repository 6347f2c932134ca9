#include "event_log.hpp"

namespace jobs {

void event_log::add(const change& what) {
    const std::lock_guard guard(lock_);
    events_.push_back({++last_, what.kind, what.id, what.attempt, what.at});
    if (events_.size() > kept_)
        events_.pop_front();
    rota::wait_list::wake_chain(waiting_.release());
}

std::uint64_t event_log::last() const {
    const std::lock_guard guard(lock_);
    return last_;
}

std::vector<event> event_log::after(std::uint64_t number, std::size_t limit) const {
    const std::lock_guard guard(lock_);
    const std::uint64_t first = last_ - events_.size(); // is before the first that is kept
    const std::size_t skipped = number > first ? static_cast<std::size_t>(number - first) : 0;
    std::vector<event> result;
    for (std::size_t i = skipped; i < events_.size() && result.size() < limit; ++i)
        result.push_back(events_[i]);
    return result;
}

} // namespace jobs
