#pragma once

#include <rota/check.hpp>
#include <rota/claim.hpp>

namespace rota {

class routine;

/// A routine that waits; the node is the awaiter, so it lives in the coroutine frame and a wait
/// allocates nothing.
///
/// `queued` says what owns it. True: a wait_list, under the lock of the primitive that owns the
/// list. False: what took it out must wake() it, once, and touch it no more.
struct waiter {
    waiter* previous = nullptr;
    waiter* next = nullptr;
    routine* owner = nullptr;
    claim* race = nullptr; // whose branch it is, if it is one
    bool queued = false;
    bool cancelled = false;

    /// Returns whether it may be served: false if another branch of its race has been the first.
    [[nodiscard]] bool may_be_served() noexcept { return race == nullptr || race->take(this); }

    /// Makes the routine runnable. The waiter may be gone when this returns. Any thread.
    void wake() noexcept;
};

/// First in, first out. Thread-safety: none; the owning primitive's lock guards it.
class wait_list {
public:
    wait_list() noexcept = default;
    wait_list(const wait_list&) = delete;
    wait_list& operator=(const wait_list&) = delete;
    ~wait_list() { ROTA_CHECK_ALWAYS(head_ == nullptr, "a primitive outlives what waits for it"); }

    [[nodiscard]] bool empty() const noexcept { return head_ == nullptr; }

    void push_back(waiter& w) noexcept {
        ROTA_CHECK(!w.queued, "a waiter is in one list at a time");
        w.queued = true;
        w.next = nullptr;
        w.previous = tail_;
        (tail_ != nullptr ? tail_->next : head_) = &w;
        tail_ = &w;
    }

    /// Returns the longest waiter, left where it is; null when none waits.
    [[nodiscard]] waiter* front() const noexcept { return head_; }

    /// Takes out and returns the longest waiter that may be served; null if there is none. It has
    /// to be served then. Those whose race is decided stay: they are about to be cancelled.
    waiter* pop_front() noexcept {
        waiter* first = head_;
        while (first != nullptr && !first->may_be_served())
            first = first->next;
        if (first != nullptr)
            remove(*first);
        return first;
    }

    void remove(waiter& w) noexcept {
        ROTA_CHECK(w.queued, "a waiter is taken out once");
        (w.previous != nullptr ? w.previous->next : head_) = w.next;
        (w.next != nullptr ? w.next->previous : tail_) = w.previous;
        w.queued = false;
    }

    /// Takes out all and returns the chain, first come first, for wake_chain(). The lock need not
    /// be held for the wake-ups: `*this` is empty once release() has returned the chain.
    waiter* release() noexcept {
        for (waiter* w = head_; w != nullptr; w = w->next)
            w->queued = false;
        waiter* const first = head_;
        head_ = tail_ = nullptr;
        return first;
    }

    /// Wakes what pop_front() returned, if anything.
    static void wake_one(waiter* w) noexcept {
        if (w != nullptr) {
            w->wake();
        }
    }

    static void wake_chain(waiter* first) noexcept {
        while (first != nullptr) {
            waiter* const next = first->next; // `first` may be gone after its wake-up
            first->wake();
            first = next;
        }
    }

private:
    waiter* head_ = nullptr;
    waiter* tail_ = nullptr;
};

} // namespace rota
