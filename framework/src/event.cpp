#include <rota/event.hpp>

namespace rota {

void event::set() noexcept {
    waiter* waiters = nullptr;
    {
        const std::lock_guard guard(lock_);
        set_ = true;
        waiters = waiters_.release();
    }
    wait_list::wake_chain(waiters);
}

void event::reset() noexcept {
    const std::lock_guard guard(lock_);
    set_ = false;
}

bool event::is_set() const {
    const std::lock_guard guard(lock_);
    return set_;
}

} // namespace rota
