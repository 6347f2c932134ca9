#pragma once

#include <cstddef>
#include <cstdint>

namespace rota {

/// The order of the jobs of a distinct_job_queue: which are queued, which are in progress,
/// which comes next.
///
/// All jobs are in one list in the order in which they were added, and stay there until they are
/// removed. Jobs are taken from the front, so those that were never taken are always the tail of
/// that list: a pointer to the first of them is all that taking needs. Jobs that were put back are
/// all before it; they are in a pairing heap by age besides (Fredman et al., "The pairing heap",
/// 1986), and go first.
///
/// add(), remove() and put_back() are O(1); take() is O(1) for a job that was never put back, and
/// O(log p) amortised when p jobs that were put back wait to be taken again. None of them depends
/// on how many are in progress, and none allocates. Thread-safety: none.
class job_order {
public:
    enum class state : std::uint8_t { none, queued, in_progress };

    /// Base of a job; in one order at most.
    class node {
    public:
        node() = default;
        node(const node&) = delete;
        node& operator=(const node&) = delete;
        [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
        [[nodiscard]] job_order::state state() const noexcept { return state_; }
        /// Returns the next in the order of adding, whatever its state; null at the end.
        [[nodiscard]] node* next() const noexcept { return next_; }

    private:
        friend class job_order;
        std::uint64_t id_ = 0;
        job_order::state state_ = job_order::state::none;
        node* previous_ = nullptr;
        node* next_ = nullptr;
        node* child_ = nullptr;   // of the heap: the first of those below
        node* sibling_ = nullptr; // of the heap: the next beside it
    };

    /// Adds `job` at the end, queued, and numbers it.
    void add(node& job) noexcept;
    /// Returns the first that is queued, now in progress; null if none is queued.
    node* take() noexcept;
    /// Queues `job`, which is in progress, again at its place.
    void put_back(node& job) noexcept;
    /// Removes `job`, which is in progress.
    void remove(node& job) noexcept;

    [[nodiscard]] std::size_t queued() const noexcept { return queued_; }
    [[nodiscard]] std::size_t in_progress() const noexcept { return in_progress_; }
    /// Returns the oldest job of all; go on with node::next().
    [[nodiscard]] node* first() const noexcept { return first_; }
    /// Returns the oldest that is queued; null if none is queued. After it, too, some may be in
    /// progress.
    [[nodiscard]] node* first_queued() const noexcept {
        return returned_ != nullptr ? returned_ : fresh_;
    }
    /// Returns the oldest that was never taken: from here on all are queued; null if there is none.
    [[nodiscard]] node* first_fresh() const noexcept { return fresh_; }

private:
    static node* meld(node* a, node* b) noexcept;
    node* pop_returned() noexcept;

    node* first_ = nullptr;
    node* last_ = nullptr;
    node* fresh_ = nullptr;
    node* returned_ = nullptr; // root of the heap
    std::size_t queued_ = 0;
    std::size_t in_progress_ = 0;
    std::uint64_t last_id_ = 0;
};

} // namespace rota
