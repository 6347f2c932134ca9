#pragma once

#include <chrono>
#include <utility>

#include "jobs/rules/step.hpp"

namespace jobs {

/// How long a step may take in all, from when it is asked for, and how much of that has to be left
/// for it to be begun.
inline constexpr std::chrono::seconds step_limit{15};
inline constexpr std::chrono::seconds step_needs{3};

/// Steps, in order, each in one line at a time. They are linked through themselves: no memory is
/// needed to have one wait. Thread-safety: none.
class step_line {
public:
    step_line() = default;
    step_line(step_line&& from) noexcept
        : head_(std::exchange(from.head_, nullptr)), tail_(std::exchange(from.tail_, nullptr)) {}
    step_line& operator=(step_line&&) = delete;
    ~step_line() = default;

    [[nodiscard]] bool empty() const noexcept { return head_ == nullptr; }
    /// The first; the others follow by their `waits.next`. Null: there is none.
    [[nodiscard]] store_step* front() const noexcept { return head_; }

    void push_back(store_step& what) noexcept {
        what.waits.next = nullptr;
        (tail_ != nullptr ? tail_->waits.next : head_) = &what;
        tail_ = &what;
    }
    /// There is one.
    store_step& pop_front() noexcept {
        store_step& first = *head_;
        head_ = first.waits.next;
        if (head_ == nullptr)
            tail_ = nullptr;
        return first;
    }
    /// All of `others` go before those that are here.
    void push_front(step_line others) noexcept {
        if (others.empty())
            return;
        others.tail_->waits.next = head_;
        if (head_ == nullptr)
            tail_ = others.tail_;
        head_ = others.head_;
    }
    /// False: it is not here.
    bool remove(const store_step& what) noexcept {
        store_step* before = nullptr;
        for (store_step* each = head_; each != nullptr; before = each, each = each->waits.next) {
            if (each != &what)
                continue;
            (before != nullptr ? before->waits.next : head_) = each->waits.next;
            if (tail_ == each)
                tail_ = before;
            return true;
        }
        return false;
    }

private:
    store_step* head_ = nullptr;
    store_step* tail_ = nullptr;
};

} // namespace jobs
