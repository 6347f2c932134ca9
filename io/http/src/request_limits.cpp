#include <rota/http/request_limits.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include <rota/detail/timer_wheel.hpp>
#include <rota/errors.hpp>
#include <rota/http/detail/request_access.hpp>
#include <rota/routine.hpp>
#include <rota/semaphore.hpp>
#include <rota/when_any.hpp>
#include <rota/with_timeout.hpp>
#include <rota/worker.hpp>

#include "answers.hpp"

namespace rota::http {
namespace {

response refusal(const error_page& page, int status, literal why) {
    return error_answer(page ? &page : nullptr, http_error(status, why));
}

// --- How many at once ---

struct places {
    places(concurrency_limit_options from, error_page with)
        : options(from), page(std::move(with)), free(from.at_once) {}
    const concurrency_limit_options options;
    const error_page page;
    semaphore free;
    std::atomic<std::size_t> waiting{0};
};

/// One more that waits, for as long as this lives; unless there is no room.
class waiting_place {
public:
    explicit waiting_place(places& of) noexcept
        : of_(of),
          taken_(of.waiting.fetch_add(1, std::memory_order_relaxed) < of.options.waiting_max) {}
    ~waiting_place() { of_.waiting.fetch_sub(1, std::memory_order_relaxed); }
    waiting_place(const waiting_place&) = delete;
    waiting_place& operator=(const waiting_place&) = delete;
    [[nodiscard]] bool taken() const noexcept { return taken_; }

private:
    places& of_;
    const bool taken_;
};

/// Nothing if it comes too late, or not at all.
task<std::optional<semaphore::permit>> wait_for_place(places* of, request* req) {
    waiting_place place(*of);
    if (!place.taken())
        co_return std::nullopt;
    const routine& self = co_await current_routine;
    const auto until = deadline_after(self.home().now(), of->options.patience);
    try {
        // Only behind the content can be seen that a client has gone.
        if (req->body().length() == 0) {
            auto turn = when_any(of->free.acquire(), request_access::lost(req));
            auto first = co_await with_deadline(until, std::move(turn));
            if (auto* const got = std::get_if<semaphore::permit>(&first))
                co_return std::move(*got);
            co_return std::nullopt;
        }
        co_return co_await with_deadline(until, of->free.acquire());
    } catch (const timed_out&) {
        // It goes without.
    }
    co_return std::nullopt;
}

/// The place is held so long, and no longer: a task's parameters are there until it is gone.
task<response> answer_in_place(semaphore::permit place, task<response> made) {
    const semaphore::permit held = std::move(place);
    co_return co_await std::move(made);
}

task<response> answer_in_turn(places* of, request* req, next proceed) {
    const std::optional<semaphore::permit> place = co_await wait_for_place(of, req);
    if (!place) {
        response busy = refusal(of->page, 503, "there are too many requests of this kind now");
        busy.header("Retry-After", std::to_string(of->options.retry_after.count()));
        co_return std::move(busy);
    }
    co_return co_await proceed(*req);
}

// --- How long ---

struct clock_state {
    time_span limit;
    int status;
    error_page page;
};

task<response> answer_in_time(const clock_state* by, task<response> answering) {
    try {
        co_return co_await with_timeout(by->limit, std::move(answering));
    } catch (const timed_out&) {
        // Below: the page is no part of what is timed.
    }
    co_return refusal(by->page, by->status, "this took too long");
}

} // namespace

middleware concurrency_limit(concurrency_limit_options options, error_page page) {
    if (options.at_once == 0)
        throw std::invalid_argument("at least one request at once");
    if (options.patience.count() < 0)
        throw std::invalid_argument("concurrency_limit(): patience must not be negative");
    if (options.retry_after.count() < 0)
        throw std::invalid_argument("concurrency_limit(): retry_after must not be negative");
    auto of = std::make_shared<places>(options, std::move(page));
    return [of = std::move(of)](request& req, next proceed) {
        std::optional<semaphore::permit> place = of->free.try_acquire();
        if (!place)
            return answer_in_turn(of.get(), &req, proceed);
        task<response> made = proceed(req);
        return made.ready() != nullptr ? std::move(made)
                                       : answer_in_place(*std::move(place), std::move(made));
    };
}

middleware time_limit(time_span limit, int status, error_page page) {
    if (time_span::length(limit) <= time_span::length::zero())
        throw std::invalid_argument("a limit of time is above 0");
    if (status < 400 || status > 599)
        throw std::invalid_argument("a failure has a status between 400 and 599");
    auto by = std::make_shared<const clock_state>(clock_state{limit, status, std::move(page)});
    return [by = std::move(by)](request& req, next proceed) {
        task<response> made = proceed(req);
        return made.ready() != nullptr ? std::move(made)
                                       : answer_in_time(by.get(), std::move(made));
    };
}

middleware body_limit(std::uint64_t bytes_max) {
    return [bytes_max](request& req, next proceed) {
        req.body().limit(bytes_max);
        return proceed(req);
    };
}

} // namespace rota::http
