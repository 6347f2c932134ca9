#pragma once

#include <coroutine>
#include <mutex>
#include <optional>
#include <source_location>
#include <utility>

#include <rota/check.hpp>
#include <rota/list_awaiter.hpp>
#include <rota/wait_list.hpp>

namespace rota {

/// Mutual exclusion that suspends the routine instead of blocking its thread; for state that must
/// not change between two waits. For state that is only touched between waits a std::mutex, or
/// nothing, is enough.
///
/// Handed over in the order of arrival: the woken waiter holds it. Not recursive. Thread-safety:
/// any thread; it must outlive its guards and its waiters.
class mutex {
public:
    /// Holds the mutex as long as it lives. Move-only; may be released by any thread.
    class [[nodiscard]] guard {
    public:
        guard(guard&& other) noexcept : mutex_(std::exchange(other.mutex_, nullptr)) {}
        /// Releases the mutex that this had.
        guard& operator=(guard&& other) noexcept {
            guard taken(std::move(other)); // and goes with what was here
            std::swap(mutex_, taken.mutex_);
            return *this;
        }
        ~guard() { unlock(); }

        /// Releases the mutex early.
        void unlock() noexcept {
            if (mutex* const m = std::exchange(mutex_, nullptr); m != nullptr) {
                m->unlock();
            }
        }
        [[nodiscard]] bool owns_lock() const noexcept { return mutex_ != nullptr; }

    private:
        friend class mutex;
        explicit guard(mutex& m) noexcept : mutex_(&m) {}
        mutex* mutex_;
    };

    class [[nodiscard]] lock_awaiter final : public list_awaiter {
    public:
        lock_awaiter(mutex& m, std::source_location where) noexcept
            : list_awaiter(m.lock_, m.waiters_, "mutex::lock", where), mutex_(m) {}
        template <class Promise>
        bool await_suspend(std::coroutine_handle<Promise> self) {
            return wait_unless(self, [this] { return !std::exchange(mutex_.locked_, true); });
        }
        guard await_resume() {
            finish();
            return guard(mutex_);
        }

    private:
        mutex& mutex_;
    };

    mutex() = default;
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;
    ~mutex() { ROTA_CHECK(!locked_, "a mutex outlives its guards"); }

    /// `auto held = co_await m.lock();` waits for the mutex. Throws operation_cancelled.
    lock_awaiter lock(std::source_location where = std::source_location::current()) noexcept {
        return {*this, where};
    }
    /// Locks without waiting; returns nothing if it is held.
    [[nodiscard]] std::optional<guard> try_lock();

private:
    void unlock() noexcept;

    std::mutex lock_;   // guards what follows
    wait_list waiters_; // empty unless locked
    bool locked_ = false;
};

} // namespace rota
