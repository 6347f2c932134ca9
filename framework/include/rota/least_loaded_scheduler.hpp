#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include <rota/detail/worker_load.hpp>

namespace rota {

/// Picks the worker for a new routine or connection: batches of workers in rotation, the lightest
/// of the batch (the references' LeastLoadedScheduler).
///
/// Where the references always take the first of several equally light workers, ties rotate here;
/// otherwise every idle client would land on worker 0. With equal loads each worker of a batch is
/// picked equally often. Thread-safety: none; its owner locks.
class least_loaded_scheduler {
public:
    /// `batch_size` is at least 1 (0 counts as 1).
    explicit least_loaded_scheduler(std::size_t batch_size = 8) noexcept
        : batch_size_(std::clamp<std::size_t>(batch_size, 1, 65'536)) {}

    [[nodiscard]] std::size_t batch_size() const noexcept { return batch_size_; }

    /// Returns the next batch [first, last) of `workers` workers (at least one). With 22 workers
    /// and batch 8: (0,8) (8,16) (16,22), then again from (0,8).
    std::pair<std::size_t, std::size_t> next_batch(std::size_t workers) noexcept {
        const std::size_t batches = (workers + batch_size_ - 1) / batch_size_;
        const std::size_t first = (round_++ % batches) * batch_size_;
        return {first, first + batch_size_ < workers ? first + batch_size_ : workers};
    }

    /// Returns the index of the lightest of `workers` workers (at least one) if they fit a batch,
    /// else of the next batch. `load_of(index)` returns a rota::worker_load.
    template <class LoadOf>
    std::size_t pick(std::size_t workers, LoadOf&& load_of) {
        const std::size_t round = round_ / ((workers + batch_size_ - 1) / batch_size_);
        const auto [first, last] = next_batch(workers);
        const std::size_t count = last - first;
        std::size_t best = first + round % count;
        worker_load lightest = load_of(best);
        for (std::size_t i = 1; i < count; ++i) {
            const std::size_t candidate = first + (round + i) % count;
            const worker_load l = load_of(candidate);
            if (l < lightest) {
                lightest = l;
                best = candidate;
            }
        }
        return best;
    }

private:
    std::size_t batch_size_;
    std::size_t round_ = 0; // of next_batch(): the look round a batch begins one further on each
                            // time that it has its turn
};

} // namespace rota
