#pragma once

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

    /// Runs it. It may be gone, or queued again, when this returns.
    void operator()() noexcept { run_(*this); }

private:
    friend class run_queue;
    friend class inbox;
    function run_;
    runnable* next_ = nullptr;
};

/// First in, first out; one thread at a time.
class run_queue {
public:
    [[nodiscard]] bool empty() const noexcept { return head_ == nullptr; }

    void push(runnable& r) noexcept {
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
        }
        return first;
    }

private:
    runnable* head_ = nullptr;
    runnable* tail_ = nullptr;
};

} // namespace rota
