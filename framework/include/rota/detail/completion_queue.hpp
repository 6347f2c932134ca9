#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include <rota/check.hpp>
#include <rota/detail/small_lock.hpp>

namespace rota {

/// Receives the outcomes of operations that something outside the framework carries out (io: the
/// kernel).
class completion_handler {
public:
    /// Runs under the baton of the worker that owns the handler; may make routines ready, runs no
    /// user code.
    virtual void complete(std::int32_t result, std::uint32_t flags) noexcept = 0;

protected:
    ~completion_handler() = default;
};

struct completion {
    completion_handler* handler;
    std::int32_t result;
    std::uint32_t flags;
};

/// Carries completions from the thread that reaps them to the baton holder of one worker, a batch
/// at a time.
///
/// Bounded by what can be in flight: each completion stands for a submitted operation or for a
/// receive buffer that the worker has lent out, and both are limited where they are handed out. The
/// two vectors keep their capacity, so the steady state allocates nothing.
class completion_queue {
public:
    /// Adds a batch, in order. Sequentially consistent on `pending_`, for the wake-up protocol
    /// (worker.hpp).
    void push(const completion* batch, std::size_t count) {
        const std::lock_guard guard(lock_);
        incoming_.insert(incoming_.end(), batch, batch + count);
        pending_.store(static_cast<std::uint32_t>(incoming_.size()), std::memory_order_seq_cst);
    }

    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
    [[nodiscard]] std::uint32_t size() const noexcept {
        return pending_.load(std::memory_order_seq_cst);
    }

    /// Hands every completion to its handler; returns how many. The baton holder only.
    std::size_t drain() {
        if (empty())
            return 0;
        ROTA_CHECK(draining_.empty(), "completions are handed over by one holder of the baton");
        {
            const std::lock_guard guard(lock_);
            draining_.swap(incoming_);
            pending_.store(0, std::memory_order_seq_cst);
        }
        const std::size_t count = draining_.size();
        ROTA_CHECK(count != 0, "what is counted is there");
        for (const completion& c : draining_)
            c.handler->complete(c.result, c.flags);
        draining_.clear();
        return count;
    }

private:
    small_lock lock_;
    std::vector<completion> incoming_;
    std::atomic<std::uint32_t> pending_{0};
    std::vector<completion> draining_; // the baton holder's
};

} // namespace rota
