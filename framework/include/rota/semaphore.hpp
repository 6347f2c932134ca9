#pragma once

#include <coroutine>
#include <cstddef>
#include <mutex>
#include <optional>
#include <source_location>
#include <utility>

#include <rota/list_awaiter.hpp>
#include <rota/wait_list.hpp>

namespace rota {

/// A number of permits: limits how much is done at the same time.
///
/// Strictly first come first served, also for several at once: a wait for one permit queues behind
/// an earlier wait for ten. Thread-safety: any thread; it must outlive its waiters and permit
/// objects.
class semaphore {
public:
    /// Permits that are given back on destruction. Move-only; may be destroyed on any thread.
    class [[nodiscard]] permit {
    public:
        permit() noexcept = default;
        permit(permit&& other) noexcept
            : semaphore_(std::exchange(other.semaphore_, nullptr)),
              count_(std::exchange(other.count_, 0)) {}
        /// Gives back the permits that this had.
        permit& operator=(permit&& other) noexcept {
            permit taken(std::move(other)); // and goes with what was here
            std::swap(semaphore_, taken.semaphore_);
            std::swap(count_, taken.count_);
            return *this;
        }
        ~permit() { release(); }

        [[nodiscard]] std::size_t count() const noexcept { return count_; }
        /// Gives the permits back early.
        void release() noexcept {
            if (semaphore* const s = std::exchange(semaphore_, nullptr); s != nullptr) {
                s->release(std::exchange(count_, 0));
            }
        }
        /// Leaves the permits taken; the caller must call semaphore::release() later.
        void detach() noexcept {
            semaphore_ = nullptr;
            count_ = 0;
        }

    private:
        friend class semaphore;
        permit(semaphore& s, std::size_t count) noexcept : semaphore_(&s), count_(count) {}
        semaphore* semaphore_ = nullptr;
        std::size_t count_ = 0;
    };

    class [[nodiscard]] acquire_awaiter final : public list_awaiter {
    public:
        acquire_awaiter(semaphore& s, std::size_t count, std::source_location where) noexcept
            : list_awaiter(s.lock_, s.waiters_, "semaphore::acquire", where), semaphore_(s),
              count_(count) {}
        template <class Promise>
        bool await_suspend(std::coroutine_handle<Promise> self) {
            return wait_unless(self, [this] { return semaphore_.take(count_); });
        }
        permit await_resume() {
            finish();
            return {semaphore_, count_};
        }

    private:
        friend class semaphore;
        static acquire_awaiter& of(waiter& w) noexcept { return static_cast<acquire_awaiter&>(w); }
        waiter* others_after_cancel() noexcept override { return semaphore_.serve(); }

        semaphore& semaphore_;
        const std::size_t count_;
    };

    explicit semaphore(std::size_t permits) noexcept : available_(permits) {}
    semaphore(const semaphore&) = delete;
    semaphore& operator=(const semaphore&) = delete;

    /// `auto permit = co_await s.acquire();` waits for `count` permits. Throws operation_cancelled.
    acquire_awaiter acquire(std::size_t count = 1,
                            std::source_location where = std::source_location::current()) noexcept {
        return {*this, count, where};
    }
    /// Acquires without waiting; returns nothing if the permits are not there, or others wait.
    [[nodiscard]] std::optional<permit> try_acquire(std::size_t count = 1);
    /// Adds permits: those of a detached permit, or new ones; no more than a std::size_t can count.
    void release(std::size_t count = 1) noexcept;
    /// Returns how many permits can be taken now.
    [[nodiscard]] std::size_t available() const;

private:
    bool take(std::size_t count) noexcept;
    waiter* serve() noexcept;

    mutable std::mutex lock_; // guards what follows
    wait_list waiters_;
    std::size_t available_;
};

} // namespace rota
