#include <rota/latch.hpp>

namespace rota {

void latch::count_down(std::size_t count) noexcept {
    waiter* waiters = nullptr;
    {
        const std::lock_guard guard(lock_);
        count_ -= count < count_ ? count : count_;
        if (count_ == 0) {
            waiters = waiters_.release();
        }
    }
    wait_list::wake_chain(waiters);
}

task<void> latch::arrive_and_wait(std::source_location where) {
    count_down();
    co_await wait(where);
}

bool latch::is_open() const {
    const std::lock_guard guard(lock_);
    return count_ == 0;
}

} // namespace rota
