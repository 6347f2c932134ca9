#pragma once

#include <source_location>
#include <system_error>
#include <utility>

#include <rota/check.hpp>
#include <rota/list_awaiter.hpp>
#include <rota/routine.hpp>

namespace rota {

/// The awaiter that join() returns.
class [[nodiscard]] join_awaiter final : public list_awaiter {
public:
    join_awaiter(routine_ptr target, std::source_location where) noexcept
        : list_awaiter(target->join_lock_, target->joiners_, "join", where),
          target_(std::move(target)) {}

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> self) {
        if (&self.promise().current_routine() == target_.get()) {
            throw std::system_error(std::make_error_code(std::errc::resource_deadlock_would_occur),
                                    "join");
        }
        return wait_unless(self, [this] { return target_->state() == routine_state::stopped; });
    }
    void await_resume() {
        finish();
        if (const std::exception_ptr error = target_->error()) {
            std::rethrow_exception(error);
        }
    }

private:
    routine_ptr target_;
};

/// `co_await join(r);` waits until the routine `r` has stopped; any number of routines may join
/// one. Null ends the program with a message.
///
/// Rethrows the exception that ended `r`, in each joiner. A routine that was cancelled has ended in
/// good order, so operation_cancelled always means that the waiting routine has to stop. Joining
/// oneself throws std::system_error (resource_deadlock_would_occur). r->error() tells without
/// throwing. The executor's error handler is called as well, unless `r` was spawned with
/// report_errors = false.
inline join_awaiter join(routine_ptr r,
                         std::source_location where = std::source_location::current()) noexcept {
    ROTA_CHECK_ALWAYS(r, "join() is for a routine");
    return {std::move(r), where};
}

} // namespace rota
