#pragma once

#include <atomic>

#include <rota/detail/runnable.hpp>

namespace rota {

/// Many producers, one consumer at a time (the baton holder): a lock-free stack that the consumer
/// takes whole and turns round, so that what one producer posts runs in the order in which it was
/// posted.
///
/// Orders are sequentially consistent because emptiness is one half of the wake-up protocol
/// (worker.hpp): a producer posts and then looks at the worker's state; the worker announces its
/// sleep and then looks at empty(). In the one order of all four, at least one sees the other.
class inbox {
public:
    /// Adds `r`; returns true if the box was empty before. Any thread.
    bool push(runnable& r) noexcept {
        r.note_queued();
        runnable* head = head_.load(std::memory_order_relaxed);
        do {
            r.next_ = head;
        } while (!head_.compare_exchange_weak(head, &r, std::memory_order_seq_cst,
                                              std::memory_order_relaxed));
        return head == nullptr;
    }

    [[nodiscard]] bool empty() const noexcept {
        return head_.load(std::memory_order_seq_cst) == nullptr;
    }

    /// Moves everything to the end of `out`, oldest first; returns how many. The consumer only.
    unsigned drain_into(run_queue& out) noexcept {
        if (head_.load(std::memory_order_relaxed) == nullptr)
            return 0;
        runnable* newest = head_.exchange(nullptr, std::memory_order_acquire);
        runnable* oldest = nullptr;
        while (newest != nullptr) {
            runnable* const next = newest->next_;
            newest->next_ = oldest;
            oldest = newest;
            newest = next;
        }
        unsigned count = 0;
        while (oldest != nullptr) {
            runnable* const next = oldest->next_;
            oldest->note_unqueued();
            out.push(*oldest);
            oldest = next;
            ++count;
        }
        return count;
    }

private:
    std::atomic<runnable*> head_{nullptr};
};

} // namespace rota
