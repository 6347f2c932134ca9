#include "store_health.hpp"

#include <algorithm>
#include <utility>

#include <rota/io/log.hpp>

#include "jobs/store.hpp"

namespace jobs {
namespace {

/// Of so many calls one may fail, and the store still can be used.
constexpr std::uint64_t calls_for_a_failure = 20;

store_fault fault_of(const std::exception& why) noexcept {
    const auto* const known = dynamic_cast<const store_error*>(&why);
    return known != nullptr ? known->kind() : store_fault::failed;
}

} // namespace

const char* to_string(store_fault kind) noexcept {
    switch (kind) {
    case store_fault::full:
        return "full";
    case store_fault::unreachable:
        return "unreachable";
    case store_fault::unknown:
        return "unknown";
    case store_fault::late:
        return "late";
    default:
        return "failed";
    }
}

/// Under the lock.
void store_health::count(clock::duration took) noexcept {
    const auto us = static_cast<std::uint64_t>(std::max<std::int64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(took).count(), 0));
    const auto bucket = std::ranges::lower_bound(store_bounds_us, us) - store_bounds_us.begin();
    ++now_.latency_counts[static_cast<std::size_t>(bucket)];
    now_.latency_sum_us += us;
    ++window_calls_;
}

void store_health::succeeded(clock::duration took, bool proves) noexcept {
    const std::lock_guard guard(lock_);
    count(took);
    if (proves)
        worked_at_ = clock::now();
}

void store_health::failed(const std::exception& why, clock::duration took) noexcept {
    {
        const std::lock_guard guard(lock_);
        count(took);
    }
    failed(fault_of(why), why.what());
}

void store_health::failed(store_fault kind, const char* why) noexcept {
    const std::lock_guard guard(lock_);
    ++now_.errors.at(static_cast<std::size_t>(kind));
    ++failures_;
    window_failures_ += kind == store_fault::late ? 0 : 1;
    full_ |= kind == store_fault::full;
    if (now_.up)
        go_down(why);
}

/// Under the lock, so that lines come in order; the log does not wait.
void store_health::go_down(const char* why) noexcept {
    now_.up = false;
    down_since_ = clock::now();
    failures_ = 1;
    window_calls_ = window_failures_ = 0;
    try {
        now_.reason = why;
        rota::log::error("the job store fails: {}", why);
    } catch (...) { // no memory for the reason: it is down all the same
        now_.reason.clear();
    }
    if (on_down_)
        on_down_();
}

void store_health::on_down(std::function<void()> told) {
    const std::lock_guard guard(lock_);
    on_down_ = std::move(told);
}

void store_health::probed() noexcept {
    const std::lock_guard guard(lock_);
    const bool many_fail = window_failures_ * calls_for_a_failure > window_calls_;
    window_calls_ = window_failures_ = 0;
    worked_at_ = clock::now();
    if (now_.up || many_fail)
        return;
    now_.up = true;
    full_ = false;
    now_.reason.clear();
    const auto length =
        std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - down_since_);
    rota::log::info("the job store can be used again, after {} ms in which {} calls failed",
                    length.count(), failures_);
}

store_state store_health::state() const {
    const std::lock_guard guard(lock_);
    return now_;
}

bool store_health::is_up() const noexcept {
    const std::lock_guard guard(lock_);
    return now_.up;
}

bool store_health::is_full() const noexcept {
    const std::lock_guard guard(lock_);
    return full_;
}

bool store_health::worked_since(clock::time_point then) const noexcept {
    const std::lock_guard guard(lock_);
    return now_.up && worked_at_ >= then;
}

} // namespace jobs
