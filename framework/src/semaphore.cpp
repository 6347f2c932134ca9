#include <rota/semaphore.hpp>

#include <algorithm>
#include <limits>

namespace rota {

bool semaphore::take(std::size_t count) noexcept {
    if (!waiters_.empty() || available_ < count) {
        return false;
    }
    available_ -= count;
    return true;
}

waiter* semaphore::serve() noexcept {
    wait_list served;
    waiter* next = nullptr;
    for (waiter* first = waiters_.front(); first != nullptr; first = next) {
        next = first->next;
        const std::size_t wanted = acquire_awaiter::of(*first).count_;
        if (available_ < wanted) {
            break;
        }
        if (first->may_be_served()) {
            available_ -= wanted;
            waiters_.remove(*first);
            served.push_back(*first);
        }
    }
    return served.release();
}

std::optional<semaphore::permit> semaphore::try_acquire(std::size_t count) {
    const std::lock_guard guard(lock_);
    if (!take(count)) {
        return std::nullopt;
    }
    return permit(*this, count);
}

void semaphore::release(std::size_t count) noexcept {
    waiter* served = nullptr;
    {
        const std::lock_guard guard(lock_);
        available_ += std::min(count, std::numeric_limits<std::size_t>::max() - available_);
        served = serve();
    }
    wait_list::wake_chain(served);
}

std::size_t semaphore::available() const {
    const std::lock_guard guard(lock_);
    return available_;
}

} // namespace rota
