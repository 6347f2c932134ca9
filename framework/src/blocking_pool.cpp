#include <rota/detail/blocking_pool.hpp>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include <sys/resource.h>

namespace rota {

blocking_pool::blocking_pool(std::size_t threads_max, int nice)
    : threads_max_(std::max<std::size_t>(threads_max, 1)),
      nice_(nice == 0 ? std::nullopt : std::optional(::getpriority(PRIO_PROCESS, 0) + nice)) {
    threads_.reserve(threads_max_);
}

blocking_pool::~blocking_pool() { stop(); }

void blocking_pool::submit(job& j) {
    std::unique_lock guard(lock_);
    // Idle threads that have been woken already count as idle until they run: one for each job.
    if (idle_ <= waiting_ && threads_.size() < threads_max_) {
        try {
            threads_.push_back(start_quiet_thread(
                "rota-blocking", [this] { serve(); }, this));
        } catch (const std::exception&) {
            if (threads_.empty())
                throw;
            // The others have to do.
        }
    }
    j.previous_ = last_;
    j.next_ = nullptr;
    (last_ != nullptr ? last_->next_ : first_) = &j;
    last_ = &j;
    j.waits_ = true;
    ++waiting_;
    guard.unlock(); // or the thread that wakes up waits for it at once
    work_or_end_.notify_one();
}

void blocking_pool::unlink(job& j) noexcept {
    (j.previous_ != nullptr ? j.previous_->next_ : first_) = j.next_;
    (j.next_ != nullptr ? j.next_->previous_ : last_) = j.previous_;
    j.waits_ = false;
    --waiting_;
}

bool blocking_pool::withdraw(job& j) noexcept {
    const std::lock_guard guard(lock_);
    if (!j.waits_)
        return false;
    unlink(j);
    return true;
}

void blocking_pool::serve() {
    // Of this thread alone, on Linux; if it may not be that nice, it goes on as it is.
    if (nice_)
        ::setpriority(PRIO_PROCESS, 0, *nice_);
    std::unique_lock guard(lock_);
    for (;;) {
        ++idle_;
        work_or_end_.wait(guard, [this] { return first_ != nullptr || stopping_; });
        --idle_;
        if (first_ == nullptr)
            return;
        job& next = *first_;
        unlink(next);
        ++working_;
        guard.unlock();
        next.run();
        next.finished();
        guard.lock();
        --working_;
    }
}

void blocking_pool::stop() noexcept {
    std::vector<quiet_thread> ending;
    {
        const std::lock_guard guard(lock_);
        stopping_ = true;
        ending.swap(threads_);
    }
    work_or_end_.notify_all();
    ending.clear(); // joins them
}

blocking_pool::status blocking_pool::read() const {
    const std::lock_guard guard(lock_);
    return {.threads = threads_.size(), .working = working_, .waiting = waiting_};
}

} // namespace rota
