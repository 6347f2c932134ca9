#include "unreturned.hpp"

#include <new>
#include <utility>

namespace jobs {

void unreturned::keep(leases what) noexcept {
    {
        const std::lock_guard guard(lock_);
        const std::size_t count = what.ids.size();
        try {
            kept_.push_back(std::move(what));
        } catch (const std::bad_alloc&) {
            return;
        }
        count_ += count;
        while (count_ > leases_max)
            (void)take_first();
    }
    more_.notify();
}

std::optional<unreturned::leases> unreturned::next(time_ms now) noexcept {
    const std::lock_guard guard(lock_);
    while (!kept_.empty()) {
        leases first = take_first();
        if (first.until >= now)
            return first;
    }
    return std::nullopt;
}

std::size_t unreturned::size() noexcept {
    const std::lock_guard guard(lock_);
    return kept_.size();
}

/// Under the lock.
unreturned::leases unreturned::take_first() noexcept {
    leases first = std::move(kept_.front());
    kept_.pop_front();
    count_ -= first.ids.size();
    return first;
}

} // namespace jobs
