#include <rota/mutex.hpp>

namespace rota {

std::optional<mutex::guard> mutex::try_lock() {
    const std::lock_guard hold(lock_);
    if (std::exchange(locked_, true)) {
        return std::nullopt;
    }
    return guard(*this);
}

void mutex::unlock() noexcept {
    waiter* next = nullptr;
    {
        const std::lock_guard hold(lock_);
        ROTA_CHECK(locked_, "only a mutex that is held is let go");
        next = waiters_.pop_front(); // has it now, so it stays locked
        locked_ = next != nullptr;
    }
    wait_list::wake_one(next);
}

} // namespace rota
