#pragma once

#include <memory>
#include <utility>

namespace rota::io {

/// What run() of a server gives to its coroutine: calls `end_run()` of the server's state when it
/// goes. So that is done whether the coroutine has ended, was dropped, or could not be made.
template <class State>
class run_guard {
public:
    explicit run_guard(std::shared_ptr<State> of) noexcept : of_(std::move(of)) {}
    run_guard(run_guard&& other) noexcept = default;
    run_guard& operator=(run_guard&& other) = delete;
    ~run_guard() {
        if (of_)
            of_->end_run();
    }
    /// The state, until this is moved from.
    [[nodiscard]] const std::shared_ptr<State>& of() const noexcept { return of_; }

private:
    std::shared_ptr<State> of_;
};

} // namespace rota::io
