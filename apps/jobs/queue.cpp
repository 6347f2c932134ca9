#include "queue.hpp"

#include <stdexcept>

#include "jobs/api/words.hpp"

namespace jobs {
namespace {

using std::chrono::milliseconds;

constexpr std::chrono::hours one_day{24};

void check(bool good, const char* what) {
    if (!good)
        throw std::invalid_argument(what);
}

} // namespace

std::string detail::message_of(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& e) {
        return reason_of(e);
    } catch (...) {
        return "the work has failed";
    }
}

queue::queue(service& of, std::string_view name) : service_(&of) {
    check(is_queue_name(name), "that is no name of a queue");
    queue_ = of.open(name);
    if (!queue_)
        throw std::length_error("there are too many queues in use");
}

rota::task<std::vector<taken_job>> queue::take(std::size_t max, taking how) {
    const service_options& limits = service_->options();
    check(max >= 1 && max <= limits.take_max, "that is no number of jobs to take at once");
    check(how.lease.count() >= 0 && how.lease <= limits.lease_max, "that is no length of a lease");
    const milliseconds delay = how.retry_delay.value_or(milliseconds(0));
    check(delay.count() >= 0 && delay <= limits.delay_max, "that is no delay");
    take_request wanted;
    wanted.max = max;
    wanted.lease_ms = how.lease.count();
    std::vector<taken_job> jobs;
    while (jobs.empty() && !service_->drain_token().stop_requested()) {
        jobs = co_await service_->wait_for_jobs(queue_, wanted, one_day);
    }
    co_return std::move(jobs);
}

} // namespace jobs
