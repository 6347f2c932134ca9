#include "service.hpp"

#include <array>
#include <cerrno>
#include <exception>
#include <system_error>
#include <utility>

#include <sys/random.h>

#include <rota/errors.hpp>
#include <rota/routine.hpp>
#include <rota/task_group.hpp>
#include <rota/with_timeout.hpp>

namespace jobs {
namespace {

constexpr auto never = lease_book::time_point::max();

/// Passes a stop request on.
struct pass_on {
    std::stop_source to;
    void operator()() noexcept { to.request_stop(); }
};
using link = std::stop_callback<pass_on>;

rota::task<job_queue::lease> take_up_to(std::shared_ptr<job_queue> queue, std::size_t max) {
    job_queue::lease jobs = co_await queue->take_up_to(max);
    co_return std::move(jobs);
}

rota::task<void> note_end(rota::task<void> of, bool* ended, std::stop_source then) {
    co_await std::move(of);
    *ended = true;
    then.request_stop();
}

void fill_with_random(std::span<unsigned char> bytes) {
    while (!bytes.empty()) {
        const ssize_t got = ::getrandom(bytes.data(), bytes.size(), 0);
        if (got < 0 && errno != EINTR)
            throw std::system_error(errno, std::system_category(), "getrandom");
        bytes = bytes.subspan(got < 0 ? 0 : static_cast<std::size_t>(got));
    }
}

} // namespace

delivery::~delivery() {
    if (!ids_.empty())
        service_->put_back(*queue_, ids_);
}

// --- Queues ---

std::shared_ptr<job_queue> service::find(std::string_view name) const {
    const std::shared_lock guard(lock_);
    const auto found = queues_.find(name);
    return found == queues_.end() ? nullptr : found->second;
}

std::shared_ptr<job_queue> service::open(std::string_view name) {
    if (std::shared_ptr<job_queue> queue = find(name))
        return queue;
    const std::unique_lock guard(lock_);
    if (const auto found = queues_.find(name); found != queues_.end())
        return found->second;
    if (queues_.size() >= options_.queues_max)
        forget_unused();
    if (queues_.size() >= options_.queues_max)
        return nullptr;
    auto queue =
        std::make_shared<job_queue>(rota::job_queue_options{.max_jobs = options_.jobs_max});
    return queues_.emplace(std::string(name), std::move(queue)).first->second;
}

/// Queues without jobs that only the map refers to: whoever uses one has a reference of his own,
/// and gets it under the lock that is held here.
void service::forget_unused() {
    std::erase_if(queues_, [](const auto& named) {
        if (named.second.use_count() > 1)
            return false;
        const rota::job_counts counts = named.second->counts();
        return counts.queued + counts.in_progress == 0;
    });
}

std::vector<queue_summary> service::queues() const {
    std::vector<std::pair<std::string, std::shared_ptr<job_queue>>> all;
    {
        const std::shared_lock guard(lock_);
        all.assign(queues_.begin(), queues_.end());
    }
    std::vector<queue_summary> result;
    result.reserve(all.size());
    for (auto& [name, queue] : all)
        result.push_back({std::move(name), queue->counts()});
    return result;
}

// --- Taking ---

rota::task<job_queue::lease> service::wait_for_jobs(std::shared_ptr<job_queue> queue,
                                                    std::size_t max, std::chrono::milliseconds wait,
                                                    rota::task<void> client_gone) {
    const std::stop_token stopped = co_await rota::current_stop_token;
    std::stop_source enough;
    const link on_stop(stopped, pass_on{enough});
    const link on_drain(draining_.get_token(), pass_on{enough});
    const std::stop_token token = enough.get_token();
    bool gone = false;
    rota::task_group beside(co_await rota::current_context);
    beside.spawn(note_end(std::move(client_gone), &gone, enough), "take: is the client there");

    job_queue::lease jobs;
    std::exception_ptr error;
    try {
        rota::task<job_queue::lease> taking =
            rota::with_timeout(wait, take_up_to(std::move(queue), max));
        jobs = co_await taking.under(token);
    } catch (const rota::timed_out&) {           // there were none
    } catch (const rota::operation_cancelled&) { // nobody wants them any more
    } catch (...) {
        error = std::current_exception();
    }
    beside.request_stop();
    co_await beside.ended();
    if (error)
        std::rethrow_exception(error);
    if (stopped.stop_requested())
        throw rota::operation_cancelled();
    if (gone)
        jobs.put_back();
    co_return std::move(jobs);
}

std::vector<std::string> service::new_lease_ids(std::size_t count) {
    constexpr std::string_view hex = "0123456789abcdef";
    std::vector<std::string> ids(count);
    std::array<unsigned char, 16> bytes{};
    for (std::string& id : ids) {
        fill_with_random(bytes);
        id.reserve(2 * bytes.size());
        for (const unsigned char byte : bytes) {
            id += hex[byte >> 4];
            id += hex[byte & 15];
        }
    }
    return ids;
}

delivery service::hand_out(std::shared_ptr<job_queue> queue, job_queue::lease jobs,
                           std::vector<std::string> ids, lease_book::time_point now) {
    const auto deadline = now + options_.lease;
    bool earlier = false;
    for (const std::string& id : ids)
        earlier |= leases_.add(id, *queue, jobs.split_front(), deadline);
    if (earlier)
        earlier_end_.notify();
    return delivery(*this, std::move(queue), std::move(ids));
}

acknowledged service::acknowledge(const job_queue& queue, std::span<const std::string> acks,
                                  std::span<const std::string> retries) {
    acknowledged result;
    for (const std::string& id : acks) {
        if (std::optional<job_queue::lease> job = leases_.remove(id, queue)) {
            job->commit();
            ++result.acked;
        } else {
            result.lost.push_back(id);
        }
    }
    for (const std::string& id : retries) {
        if (std::optional<job_queue::lease> job = leases_.remove(id, queue)) {
            job->put_back();
            ++result.retried;
        } else {
            result.lost.push_back(id);
        }
    }
    return result;
}

void service::put_back(const job_queue& queue, std::span<const std::string> ids) noexcept {
    for (const std::string& id : ids) {
        if (std::optional<job_queue::lease> job = leases_.remove(id, queue))
            job->put_back();
    }
}

// --- The end of leases ---

void service::put_back_ended(lease_book::time_point now) {
    std::vector<job_queue::lease> ended = leases_.remove_ended(now);
    for (job_queue::lease& job : ended)
        job.put_back();
    expired_.fetch_add(ended.size(), std::memory_order_relaxed);
}

rota::task<void> service::wait_for(rota::auto_event* change) { co_await change->wait(); }

rota::task<void> service::end_leases() {
    rota::routine& self = co_await rota::current_routine;
    for (;;) {
        put_back_ended(self.home().now());
        const lease_book::time_point next = leases_.next_end();
        rota::task<void> change = wait_for(&earlier_end_);
        try {
            if (next == never) {
                co_await std::move(change);
            } else {
                co_await rota::with_deadline(next, std::move(change));
            }
        } catch (const rota::timed_out&) { // a lease has ended
        }
    }
}

} // namespace jobs
