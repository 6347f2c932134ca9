#include "held_jobs.hpp"

#include <algorithm>
#include <optional>

#include <rota/check.hpp>
#include <rota/sleep.hpp>

namespace jobs {
namespace {

/// Between two tries to extend a lease, at least.
constexpr time_ms pause_min_ms = 1;
/// The same after the store could not be used.
constexpr time_ms pause_min_after_error_ms = 100;

/// As much of it as a job may keep, in characters that every store takes.
std::string printable(std::string_view why, std::size_t bytes_max) {
    std::string text(why.substr(0, bytes_max));
    std::ranges::replace_if(
        text, [](char c) { return c < ' ' || c > '~'; }, '?');
    return text;
}

} // namespace

held_jobs::held_jobs(service& by, watched_ptr queue, const std::vector<taken_job>& jobs,
                     std::int64_t lease_ms)
    : by_(by), queue_(std::move(queue)), lease_ms_(lease_ms), expires_at_(never) {
    held_.reserve(jobs.size());
    for (const taken_job& job : jobs) {
        held_.push_back({job.lease_id, job.id});
        expires_at_ = std::min(expires_at_, job.lease_expires_at);
    }
}

held_jobs::~held_jobs() {
    if (!held_.empty())
        by_.backing().put_back(queue_->name, leases(), true, by_.now());
}

std::vector<std::string> held_jobs::leases() const {
    std::vector<std::string> ids;
    ids.reserve(held_.size());
    for (const held& each : held_)
        ids.push_back(each.lease);
    return ids;
}

void held_jobs::lose(std::vector<held>& of, const std::vector<std::string>& leases) {
    for (const std::string& lease : leases) {
        const auto found = std::ranges::find(of, lease, &held::lease);
        ROTA_CHECK_ALWAYS(found != of.end(), "a lease that is lost was held");
        lost_.push_back(found->id);
        of.erase(found);
    }
}

rota::task<void> held_jobs::keep() {
    time_ms pause_min = pause_min_ms;
    while (!held_.empty()) {
        const time_ms now = by_.now();
        const time_ms next = now + std::max((expires_at_ - now) / 3, pause_min);
        co_await rota::sleep_until(by_.steady(next));
        std::optional<extend_result> result;
        try {
            result = co_await by_.backing().extend(queue_->name, leases(), lease_ms_, by_.now());
        } catch (const store_error&) {
            pause_min = pause_min_after_error_ms;
            if (by_.now() > expires_at_)
                co_return; // done() will tell what is lost
            continue;
        }
        pause_min = pause_min_ms;
        lose(held_, result->lost);
        expires_at_ = never;
        for (const lease_end& each : result->leases)
            expires_at_ = std::min(expires_at_, each.expires_at);
    }
}

rota::task<std::size_t> held_jobs::done() {
    std::vector<std::string> acks = leases();
    std::vector<held> given = std::exchange(held_, {});
    if (acks.empty())
        co_return 0;
    const settle_result result =
        co_await by_.backing().settle(queue_->name, std::move(acks), {}, by_.now());
    lose(given, result.lost);
    co_return result.acked;
}

rota::task<void> held_jobs::failed(std::string why,
                                   std::optional<std::chrono::milliseconds> delay) {
    std::vector<retry> retries;
    std::optional<std::int64_t> delay_ms;
    if (delay)
        delay_ms = delay->count();
    const std::string reason = printable(why, by_.options().error_bytes_max);
    retries.reserve(held_.size());
    for (held& each : held_)
        retries.push_back({std::move(each.lease), delay_ms, reason});
    held_.clear();
    try {
        [[maybe_unused]] const settle_result result =
            co_await by_.backing().settle(queue_->name, {}, std::move(retries), by_.now());
    } catch (const store_error&) { // the leases end by themselves
    }
}

} // namespace jobs
