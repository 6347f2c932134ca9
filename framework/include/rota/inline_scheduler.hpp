#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <rota/executor.hpp>
#include <rota/task.hpp>
#include <rota/worker.hpp>

namespace rota {

/// What a call of the single-threaded scheduler found (the references' RunStatus).
enum class run_status : std::uint8_t {
    ran_one,               ///< one routine was resumed
    some_routines_blocked, ///< nothing is ready, but routines wait for something
    no_routines,           ///< every routine has stopped
};

[[nodiscard]] std::string_view to_string(run_status status) noexcept;

/// A clock that stands still until it is moved. One thread.
class virtual_time final : public time_source {
public:
    [[nodiscard]] time_point now() const noexcept override { return now_; }
    /// Moves the clock to `when`, if that is later.
    void move_to(time_point when) noexcept { now_ = when > now_ ? when : now_; }

private:
    time_point now_{std::chrono::hours(1)};
};

/// The executor without threads (the references' DefaultCoScheduler): one worker, driven by the
/// caller, and a clock that only moves when told to. Everything that happens is decided by the
/// calls made, so tests of coroutines are exact.
///
/// Declare it after what its routines refer to: the destructor runs what is left to its end. One
/// thread at a time drives it. Routines may be spawned and woken from any thread; they run in the
/// next call.
class inline_scheduler final : public executor {
public:
    explicit inline_scheduler(error_handler on_error = {});
    /// Asks what is left to stop, and runs it to its end, moving the clock if need be.
    ~inline_scheduler() override;

    /// Resumes one ready routine, after taking in completions, timers and wake-ups.
    run_status run_one();
    /// Resumes routines until none is ready. Returns some_routines_blocked or no_routines.
    run_status run();
    /// Does what run() does; returns how many steps were taken.
    std::size_t run_until_idle();
    /// Moves the clock by `length`, timer by timer, and runs what becomes ready at each. With a
    /// `length` that means for ever it stays at the last timer.
    run_status advance(time_span length);
    /// Moves the clock to the next timer and runs what becomes ready. Returns false if none is
    /// armed, or only timers that never fire.
    bool advance_to_next_timer();

    /// Runs `body` (see task_body) as a routine to its end, together with all others, and returns
    /// its value or rethrows its exception. When everything is blocked the clock moves on to the
    /// next timer; if there is none, asks the body to stop, runs it to its end, and throws
    /// std::logic_error that names what blocks.
    template <task_body A>
    body_result_t<A> run_task(A&& body) {
        return run_to_end(as_task(std::forward<A>(body)));
    }

    [[nodiscard]] virtual_time::time_point now() const noexcept { return time_.now(); }
    /// Returns its one worker, whose baton the calling thread holds.
    [[nodiscard]] worker& home() noexcept { return worker_; }
    [[nodiscard]] assignment assign() override { return assignment(worker_); }

private:
    template <class T>
    T run_to_end(task<T> body);
    std::size_t turn(std::size_t steps);
    [[nodiscard]] run_status idle_status() const;
    void run_until_stopped(routine& r);
    [[nodiscard]] std::string describe_blocked() const;

    virtual_time time_;
    worker worker_;
};

template <class T>
T inline_scheduler::run_to_end(task<T> body) {
    // Shared, since a body that does not stop when asked to outlives this call.
    const auto out = std::make_shared<detail::outcome<T>>();
    const routine_ptr r = spawn(detail::capture(std::move(body), out), {.name = "run_task"});
    run_until_stopped(*r);
    if (out->error) {
        std::rethrow_exception(out->error);
    }
    if constexpr (!std::is_void_v<T>) {
        return std::move(*out->value);
    }
}

} // namespace rota
