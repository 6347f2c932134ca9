#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include <rota/check.hpp>
#include <rota/list_awaiter.hpp>
#include <rota/wait_list.hpp>

namespace rota {

/// What happens to a receiver that does not keep up.
enum class lag_policy {
    skip, ///< it misses what is gone, and goes on with the oldest value still kept
    end,  ///< it gets nothing more
};

/// Sends every value to all receivers: each gets, in order, those sent after it was made.
///
/// The last `capacity` values are kept, once, whatever the number of receivers; send() never waits.
/// A receiver that falls further behind has lagged, and its policy applies; the others notice
/// nothing. close() ends it: receivers take what is left and then get nothing. A wait that is
/// cancelled has taken nothing.
///
/// T is copied to each receiver under a lock, so copying must not throw: share what is large or
/// allocates (std::shared_ptr<const X>, io::shared_bytes). Thread-safety: any thread; it must
/// outlive its receivers.
template <class T>
class broadcast {
    static_assert(std::is_nothrow_copy_constructible_v<T> && std::is_nothrow_swappable_v<T> &&
                      std::is_nothrow_destructible_v<T>,
                  "each receiver gets a copy, made under a lock: share what is not copied without "
                  "throwing, as a std::shared_ptr<const T>");

public:
    class receiver;
    class next_awaiter;

    /// Throws std::invalid_argument for a capacity of 0.
    explicit broadcast(std::size_t capacity) : kept_(capacity) {
        if (capacity == 0)
            throw std::invalid_argument("broadcast: the capacity must not be 0");
    }
    broadcast(const broadcast&) = delete;
    broadcast& operator=(const broadcast&) = delete;
#if ROTA_CHECKS
    ~broadcast() { ROTA_CHECK(receivers_ == 0, "a broadcast outlives its receivers"); }
#endif

    /// Sends `value` to the present receivers, and returns their number. Once closed, returns 0 and
    /// does nothing.
    std::size_t send(T value) {
        std::optional<T> last(std::in_place,
                              std::move(value)); // then what it replaces, which goes after the lock
        waiter* waiting = nullptr;
        std::size_t count = 0;
        {
            const std::lock_guard guard(lock_);
            if (closed_)
                return 0;
            count = receivers_;
            kept_[sent_ % kept_.size()].swap(last);
            ++sent_;
            waiting = waiting_.release();
        }
        wait_list::wake_chain(waiting);
        return count;
    }

    /// Refuses further values and wakes all waiters. Idempotent.
    void close() noexcept {
        waiter* waiting = nullptr;
        {
            const std::lock_guard guard(lock_);
            closed_ = true;
            waiting = waiting_.release();
        }
        wait_list::wake_chain(waiting);
    }

    [[nodiscard]] std::size_t receivers() const {
        const std::lock_guard guard(lock_);
        return receivers_;
    }

private:
    mutable std::mutex lock_;            // guards everything below, and the place of each receiver
    std::vector<std::optional<T>> kept_; // the value with number n is in slot n % capacity
    std::uint64_t sent_ = 0;
    std::size_t receivers_ = 0;
    bool closed_ = false;
    wait_list waiting_;
};

/// One receiver; for one routine at a time.
template <class T>
class broadcast<T>::receiver {
public:
    explicit receiver(broadcast& from, lag_policy policy = lag_policy::skip)
        : from_(from), policy_(policy) {
        const std::lock_guard guard(from_.lock_);
        at_ = from_.sent_;
        ++from_.receivers_;
    }
    receiver(const receiver&) = delete;
    receiver& operator=(const receiver&) = delete;
    ~receiver() {
        const std::lock_guard guard(from_.lock_);
        --from_.receivers_;
    }

    /// `co_await r.next()` waits for the next value; gives nothing once the broadcast is closed and
    /// all has been taken, or once this has lagged with lag_policy::end. Throws
    /// operation_cancelled.
    next_awaiter next(std::source_location where = std::source_location::current()) {
        return next_awaiter(*this, where);
    }

    /// Returns how many values this has missed by lagging.
    [[nodiscard]] std::uint64_t missed() const {
        const std::lock_guard guard(from_.lock_);
        return missed_;
    }

private:
    friend class next_awaiter;

    [[nodiscard]] bool has_next_locked() const noexcept {
        return at_ != from_.sent_ || from_.closed_ || ended_;
    }
    std::optional<T> take_locked() noexcept {
        const std::uint64_t behind = from_.sent_ - at_;
        if (behind > from_.kept_.size()) {
            const std::uint64_t gone = behind - from_.kept_.size();
            missed_ += gone;
            at_ += gone;
            ended_ = ended_ || policy_ == lag_policy::end;
        }
        if (ended_ || at_ == from_.sent_)
            return std::nullopt;
        return from_.kept_[at_++ % from_.kept_.size()];
    }

    broadcast& from_;
    const lag_policy policy_;

    // -- the lock of from_
    std::uint64_t at_ = 0; // the number of its next value
    std::uint64_t missed_ = 0;
    bool ended_ = false;
};

template <class T>
class [[nodiscard]] broadcast<T>::next_awaiter final : public list_awaiter {
public:
    next_awaiter(receiver& r, std::source_location where) noexcept
        : list_awaiter(r.from_.lock_, r.from_.waiting_, "broadcast::next", where), receiver_(r) {}

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> self) {
        return wait_unless(self, [this] { return receiver_.has_next_locked(); });
    }
    std::optional<T> await_resume() {
        finish();
        const std::lock_guard guard(receiver_.from_.lock_);
        if (!may_be_served()) // send() wakes all that wait, those too whose race is decided by then
            return std::nullopt;
        return receiver_.take_locked();
    }

private:
    receiver& receiver_;
};

} // namespace rota
