#pragma once

#include <rota/check.hpp>

namespace rota {

/// Something that the holder of a worker's baton runs once: the node of run queues and inboxes,
/// embedded in its owner, so that queueing allocates nothing. It is in at most one queue at a time,
/// which is what bounds every queue.
class runnable {
public:
    using function = void (*)(runnable& self) noexcept;

    explicit runnable(function run) noexcept : run_(run) {}
    runnable(const runnable&) = delete;
    runnable& operator=(const runnable&) = delete;

#if ROTA_CHECKS
    ~runnable() { ROTA_CHECK(next_ == this, "what goes is in no queue"); }
#endif

    /// Runs it. It may be gone, or queued again, when this returns.
    void operator()() noexcept { run_(*this); }

private:
    friend class run_queue;
    friend class inbox;

    /// Before it is queued, after it was taken out: where checks are on, one that is in no queue
    /// refers to itself.
    void note_queued() const noexcept {
        ROTA_CHECK(next_ == this, "a runnable is in one queue at a time");
    }
    void note_unqueued() noexcept {
        if constexpr (checks_enabled)
            next_ = this;
    }

    function run_;
    runnable* next_ = checks_enabled ? this : nullptr;
};

/// First in, first out; one thread at a time.
class run_queue {
public:
    [[nodiscard]] bool empty() const noexcept { return head_ == nullptr; }

    void push(runnable& r) noexcept {
        r.note_queued();
        r.next_ = nullptr;
        (tail_ != nullptr ? tail_->next_ : head_) = &r;
        tail_ = &r;
    }

    runnable* pop() noexcept {
        runnable* const first = head_;
        if (first != nullptr) {
            head_ = first->next_;
            if (head_ == nullptr)
                tail_ = nullptr;
            first->note_unqueued();
        }
        return first;
    }

private:
    runnable* head_ = nullptr;
    runnable* tail_ = nullptr;
};

} // namespace rota
