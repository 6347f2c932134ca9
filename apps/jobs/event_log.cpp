#include "event_log.hpp"

#include <new>

#include <rota/check.hpp>

namespace jobs {

void event_log::add(const change& what) noexcept {
    const std::lock_guard guard(lock_);
    ++last_;
    try {
        events_.push_back({last_, what.kind, what.id, what.attempt, what.at});
    } catch (const std::bad_alloc&) {
        events_.clear();
    }
    if (events_.size() > kept_)
        events_.pop_front();
    ROTA_CHECK(events_.empty() || (events_.size() <= kept_ && events_.back().number == last_ &&
                                   events_.front().number == last_ - events_.size() + 1),
               "events are numbered without gaps");
    rota::wait_list::wake_chain(waiting_.release());
}

std::uint64_t event_log::last() const {
    const std::lock_guard guard(lock_);
    return last_;
}

std::uint64_t event_log::last_gone() const {
    const std::lock_guard guard(lock_);
    return last_ - events_.size();
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
