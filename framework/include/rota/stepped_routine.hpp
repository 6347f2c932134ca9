#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include <rota/executor.hpp>
#include <rota/generator.hpp>
#include <rota/routine.hpp>

namespace rota {

/// A generator with a state, taken one step at a time (the references' Task and its execute).
///
/// ready: not begun; running: has given a value and may give more; stopped: has ended.
/// Thread-safety: none.
template <class Yield, class Send = void, class Return = void>
class stepper {
public:
    enum class phase : std::uint8_t { ready, running, stopped };
    /// The type a step may be given: nothing at all if Send is void.
    using sent_type = std::conditional_t<std::is_void_v<Send>, std::monostate, Send>;

    explicit stepper(generator<Yield, Send, Return> body) noexcept : body_(std::move(body)) {}

    [[nodiscard]] phase state() const noexcept { return phase_; }

    /// Runs the body to its next value and returns that, or nothing if it has ended. `value`, if
    /// there is one, is what the co_yield of the step before returns; the first step ignores it,
    /// having no co_yield to give it to. Rethrows what the body throws, having stopped.
    std::optional<Yield> step(std::optional<sent_type> value = std::nullopt) {
        if (phase_ == phase::stopped) {
            return std::nullopt;
        }
        if constexpr (!std::is_void_v<Send>) {
            if (phase_ == phase::running && value) {
                body_.send(std::move(*value));
            }
        }
        phase_ = phase::stopped; // stays so if the body ends or throws
        if (!body_.has_more()) {
            return std::nullopt;
        }
        phase_ = phase::running;
        return body_.next();
    }

    /// Stops it: step() returns nothing from now on.
    void stop() noexcept { phase_ = phase::stopped; }

    /// Returns what the body returned; see generator::result().
    Return result() { return body_.result(); }

private:
    generator<Yield, Send, Return> body_;
    phase phase_ = phase::ready;
};

/// A routine over a generator: each time its worker gets to it, it takes one step, calls the
/// observer and goes back to the end of the worker's queue, until the generator has ended or stop
/// is requested.
///
/// The observer runs on the worker, after each step, with the value, or with nothing at the end,
/// for whatever reason: the body has ended, or has thrown (routine::error()), or stop was
/// requested. It is called once for the end, with phase() stopped, unless it has itself thrown. It
/// may send(). An exception of the body or of the observer ends the routine, as routine::error().
template <class Yield, class Send = void, class Return = void>
class stepped_routine final : public routine {
public:
    using steps = stepper<Yield, Send, Return>;
    using observer = std::function<void(stepped_routine& self, const std::optional<Yield>& value)>;

    stepped_routine(executor& owner, worker& home, std::string name, bool report_errors,
                    generator<Yield, Send, Return> body, observer watch)
        : routine(owner, home, std::move(name), report_errors), steps_(std::move(body)),
          observer_(std::move(watch)) {}

    /// Returns the phase of the steps: ready, running, stopped. (state() is that of the routine,
    /// between steps in the queue: ready.) For the observer, or once the routine has stopped.
    [[nodiscard]] typename steps::phase phase() const noexcept { return steps_.state(); }

    /// Gives the body the answer to the value that the observer was just called with. From inside
    /// the observer.
    void send(typename steps::sent_type value) requires(!std::is_void_v<Send>) {
        answer_.emplace(std::move(value));
    }

    /// Returns what the body returned. Once the routine has stopped; throws std::logic_error if it
    /// was stopped before its end, and what ended it if that was an exception.
    Return result() { return steps_.result(); }

private:
    bool resume_body() override {
        std::optional<Yield> value;
        if (stop_token().stop_requested()) {
            steps_.stop();
        } else {
            try {
                value = steps_.step(std::exchange(answer_, std::nullopt));
            } catch (...) {
                set_error(std::current_exception());
            }
        }
        tell(value);
        if (steps_.state() == steps::phase::stopped)
            return true;
        yield(nullptr);
        return false;
    }

    void tell(const std::optional<Yield>& value) noexcept {
        try {
            if (observer_)
                observer_(*this, value);
        } catch (...) {
            steps_.stop();
            if (!error())
                set_error(std::current_exception());
        }
    }

    steps steps_;
    observer observer_;
    std::optional<typename steps::sent_type> answer_;
};

/// Starts a routine over `body`, on the least loaded worker unless options.on says otherwise. The
/// pointer returned keeps the routine alive, for its result.
template <class Yield, class Send, class Return>
routine_ptr spawn_stepped(executor& on, generator<Yield, Send, Return> body,
                          typename stepped_routine<Yield, Send, Return>::observer watch = {},
                          spawn_options options = {}) {
    assignment place = options.on != nullptr ? assignment(*options.on) : on.assign();
    worker& home = place.get();
    auto* const r = new stepped_routine<Yield, Send, Return>(on, home, std::move(options.name),
                                                             options.report_errors, std::move(body),
                                                             std::move(watch));
    return on.start(routine_ptr::adopt(*r), std::move(place));
}

} // namespace rota
