#include <rota/detail/parker.hpp>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rota {
namespace {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

/// Sleeps while `word` is `expected`, until `deadline`; false when the deadline has passed. May
/// return true early.
bool futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                parking::clock::time_point deadline) noexcept {
    timespec until{};
    timespec* limit = nullptr;
    if (deadline != parking::clock::time_point::max()) {
        // FUTEX_WAIT_BITSET takes an absolute time on CLOCK_MONOTONIC, which is what steady_clock
        // counts.
        const auto since_start =
            std::max(deadline.time_since_epoch(), parking::clock::duration::zero());
        const auto whole = std::chrono::duration_cast<std::chrono::seconds>(since_start);
        until.tv_sec = static_cast<time_t>(whole.count());
        until.tv_nsec = static_cast<long>(
            std::chrono::duration_cast<std::chrono::nanoseconds>(since_start - whole).count());
        limit = &until;
    }
    const long result = ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, expected, limit,
                                  nullptr, FUTEX_BITSET_MATCH_ANY);
    return !(result == -1 && errno == ETIMEDOUT);
}

} // namespace

bool parker::wait_until(clock::time_point deadline) {
    std::uint32_t seen = empty;
    if (!word_.compare_exchange_strong(seen, sleeping, std::memory_order_acq_rel)) {
        // The permit was there. Taken by an exchange, so that a notify() in between is not
        // overwritten unseen.
        word_.exchange(empty, std::memory_order_acq_rel);
        return true;
    }
    for (;;) {
        const bool in_time = futex_wait(word_, sleeping, deadline);
        seen = permit;
        if (word_.compare_exchange_strong(seen, empty, std::memory_order_acq_rel))
            return true;
        if (!in_time)
            break; // else: a spurious wake-up, sleep again
    }
    return word_.exchange(empty, std::memory_order_acq_rel) == permit;
}

void parker::notify() noexcept {
    if (word_.exchange(permit, std::memory_order_acq_rel) == sleeping) {
        ::syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    }
}

} // namespace rota
