#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <rota/errors.hpp>
#include <rota/task.hpp>
#include <rota/task_group.hpp>

#include "held_jobs.hpp"
#include "service.hpp"

namespace jobs {

/// How jobs are taken by work in this process.
struct taking {
    std::chrono::milliseconds lease{0}; ///< 0: as the queue is set to
    /// For jobs whose work has failed; not given: as the queue is set to.
    std::optional<std::chrono::milliseconds> retry_delay{};
};

/// The result of work that has returned.
template <class Value>
struct finished {
    Value value;               ///< what it returned; std::monostate for void
    std::size_t completed = 0; ///< how many jobs are acknowledged
    /// The ids of the others, if it has not failed: their leases had ended or been taken away, so
    /// another consumer may do them, too.
    std::vector<std::uint64_t> lost{};
};

namespace detail {

template <class Result>
concept awaited = requires {
    typename Result::promise_type;
};

template <class Result>
struct value_of {
    using type = std::conditional_t<std::is_void_v<Result>, std::monostate, Result>;
};
template <awaited Result>
struct value_of<Result> : value_of<typename Result::value_type> {};

/// The result of work with jobs.
template <class Work>
using value_of_work =
    typename value_of<std::invoke_result_t<Work&, const std::vector<taken_job>&>>::type;

/// Returns whether a result means success: false and a std::expected without a value are failures.
template <class Value>
bool succeeded(const Value& value) {
    if constexpr (std::is_same_v<Value, bool>) {
        return value;
    } else if constexpr (requires { typename Value::unexpected_type; }) {
        return value.has_value();
    } else {
        return true;
    }
}

template <class Work>
rota::task<value_of_work<Work>> run_work(Work* work, const std::vector<taken_job>* jobs) {
    using result = std::invoke_result_t<Work&, const std::vector<taken_job>&>;
    if constexpr (!awaited<result>) {
        if constexpr (std::is_void_v<result>) {
            std::invoke(*work, *jobs);
            co_return std::monostate();
        } else {
            co_return std::invoke(*work, *jobs);
        }
    } else {
        result working = std::invoke(*work, *jobs);
        rota::detail::check_returned(working);
        if constexpr (std::is_void_v<typename result::value_type>) {
            co_await std::move(working);
            co_return std::monostate();
        } else {
            co_return co_await std::move(working);
        }
    }
}

/// Returns the message of an exception, for people.
[[nodiscard]] std::string message_of(const std::exception_ptr& error);

} // namespace detail

/// One of a service's queues, for work in the same process, beside clients that come over HTTP and
/// under the same rules, whatever the store.
///
/// For routines; any number of them at once, and it outlives what they await. The service outlives
/// it.
class queue {
public:
    /// Throws std::invalid_argument for an invalid name of a queue, std::length_error if too many
    /// are in use.
    queue(service& of, std::string_view name);

    /// Takes up to `max` jobs and runs `work(const std::vector<taken_job>&)` with them, a coroutine
    /// or a plain function: they are acknowledged when it returns, and put back if it fails, by an
    /// exception, which is rethrown, by cancellation, or by the result `false` or a std::expected
    /// without a value.
    ///
    /// Waits for at least one, never for more, in one line with consumers over HTTP. While the work
    /// runs, the leases are extended, however long it takes. (A plain function has its thread to
    /// itself, so there they end in their time: it should be short, or run in rota::blocking().)
    /// Where that fails, since a job was deleted or the store could not be reached for too long,
    /// the work goes on, and the result says which jobs it has lost.
    ///
    /// Returns nothing if the service drains before there is a job; a drain does not stop work.
    /// Throws what `work` throws; operation_cancelled; store_error if the store cannot be used: if
    /// it was not possible to acknowledge, the jobs come back when their leases end. So work may be
    /// done more than once, if rarely. Throws std::invalid_argument for a `max` or times beyond the
    /// service's limits. `work` is kept until it has ended, so it may be a lambda that captures.
    template <class Work>
    auto with_taken(std::size_t max, Work work, taking how = {})
        -> rota::task<std::optional<finished<detail::value_of_work<Work>>>> {
        using value = detail::value_of_work<Work>;
        const std::stop_token nobody; // what has been done or has failed is told, come what may
        const std::vector<taken_job> jobs = co_await take(max, how);
        if (jobs.empty())
            co_return std::nullopt;
        held_jobs held(*service_, queue_, jobs, how.lease.count());
        std::optional<value> result;
        std::exception_ptr error;
        rota::task_group beside(co_await rota::current_context);
        beside.spawn(held.keep(), "leases of " + queue_->name);
        try {
            value returned = co_await detail::run_work(&work, &jobs);
            result.emplace(std::move(returned));
        } catch (const rota::operation_cancelled&) {
            error = std::current_exception();
            how.retry_delay = std::chrono::milliseconds(0); // nothing has gone wrong
        } catch (...) {
            error = std::current_exception();
        }
        beside.request_stop();
        co_await beside.ended();
        if (error || !detail::succeeded(*result)) {
            const std::string why = error ? detail::message_of(error) : "the work has failed";
            rota::task<void> telling = held.failed(why, how.retry_delay);
            co_await telling.under(nobody);
        }
        if (error)
            std::rethrow_exception(error);
        rota::task<std::size_t> telling = held.done();
        const std::size_t completed = co_await telling.under(nobody);
        finished<value> told{std::move(*result), completed, held.take_lost()};
        co_return std::move(told);
    }

private:
    /// Takes at least one; none if the service drains.
    rota::task<std::vector<taken_job>> take(std::size_t max, taking how);

    service* service_;
    watched_ptr queue_;
};

} // namespace jobs
