#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <source_location>
#include <type_traits>
#include <utility>

#include <rota/awaitable.hpp>
#include <rota/detail/blocking_pool.hpp>
#include <rota/errors.hpp>
#include <rota/executor.hpp>
#include <rota/owner_wait.hpp>
#include <rota/routine.hpp>
#include <rota/task.hpp>

namespace rota {
namespace detail {

/// Waits until a thread of the pool has done `work`, and then for the worker.
class blocking_wait final : public owner_wait, private blocking_pool::job {
public:
    using function = void (*)(void* work) noexcept;

    blocking_wait(blocking_pool& pool, function body, void* work,
                  const std::source_location& where) noexcept
        : owner_wait("blocking", where), pool_(pool), body_(body), work_(work), done_(*this) {}

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> self) {
        return wait(self, [this] {
            pool_.submit(*this);
            return true;
        });
    }
    void await_resume() { owner_wait::finish(); }

private:
    /// Returns to the worker.
    struct done_node : rota::runnable {
        explicit done_node(blocking_wait& w) noexcept : rota::runnable(&run), wait(w) {}
        static void run(rota::runnable& self) noexcept {
            static_cast<done_node&>(self).wait.complete();
        }
        blocking_wait& wait;
    };

    void run() noexcept override { body_(work_); }
    void finished() noexcept override { owner().home().post(done_); }
    bool withdraw() noexcept override { return pool_.withdraw(*this); }

    blocking_pool& pool_;
    const function body_;
    void* const work_;
    done_node done_;
};

/// The work and its outcome.
template <class Work, class Result>
struct blocking_call {
    Work work;
    outcome<Result> result{};

    static void run(void* self) noexcept {
        auto& call = *static_cast<blocking_call*>(self);
        try {
            if constexpr (std::is_void_v<Result>) {
                std::move(call.work)();
            } else {
                call.result.value.emplace(std::move(call.work)());
            }
        } catch (...) {
            call.result.error = std::current_exception();
        }
    }
};

} // namespace detail

/// Runs `work()` on a thread where it may block or compute for long, while the routine's worker
/// serves others, and returns its value or rethrows its exception, on the worker again.
///
///     auto read = [&path] { return read_file(path); };
///     std::string text = co_await rota::blocking(std::ref(read));
///
/// A lambda without captures, or with captures that need no destructor, may be written in the call.
/// Others must be named: GCC 12 would destroy them twice, and the call does not compile.
///
/// The number of threads is bounded (runtime_options::blocking_threads); while all are at work,
/// calls wait their turn, first come first served. Stop: work that has not begun does not begin,
/// and operation_cancelled is thrown; work that has begun is awaited, and its result stands. `work`
/// runs on another thread than the coroutine: it captures by value, or refers to what the coroutine
/// leaves alone while it is suspended here. With an executor that has no threads (inline_scheduler)
/// it runs on the calling thread at once. Throws std::system_error if there is no thread and none
/// can be started.
template <class Work>
[[nodiscard]] task<std::invoke_result_t<Work>>
blocking(Work work, std::source_location where = std::source_location::current()) {
    using result = std::invoke_result_t<Work>;
    static_assert(!std::is_reference_v<result>, "return a value or a pointer");
    static_assert(!detail::is_task<result>, "blocking() runs a plain function, no coroutine: its "
                                            "task would run nowhere");
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
    static_assert(std::is_trivially_destructible_v<Work>,
                  "GCC 12 destroys such a lambda twice when it is made within co_await: put it "
                  "into a variable and pass std::ref() of that");
#endif
    routine& self = co_await current_routine;
    detail::blocking_call<Work, result> call{std::move(work)};
    if (blocking_pool* const pool = self.owner().blocking_threads()) {
        detail::blocking_wait wait(*pool, &detail::blocking_call<Work, result>::run, &call, where);
        co_await wait;
    } else {
        const std::stop_token stop = co_await current_stop_token;
        if (stop.stop_requested())
            throw operation_cancelled();
        detail::blocking_call<Work, result>::run(&call);
    }
    if (call.result.error)
        std::rethrow_exception(call.result.error);
    if constexpr (!std::is_void_v<result>)
        co_return std::move(*call.result.value);
}

} // namespace rota
