#include <rota/auto_event.hpp>

namespace rota {

void auto_event::notify() noexcept {
    waiter* first = nullptr;
    {
        const std::lock_guard guard(lock_);
        first = waiters_.pop_front();
        permit_ = first == nullptr;
    }
    wait_list::wake_one(first);
}

} // namespace rota
