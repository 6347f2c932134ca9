#include <rota/task_group.hpp>

#include <cstdio>

#include <rota/errors.hpp>
#include <rota/worker.hpp>

namespace rota {

task_group::task_group(const task_context& context)
    : owner_(context.owner()), parent_(context.token()), on_parent_(parent_, relay{&source_}) {}

task_group::~task_group() {
    if (running_ != 0) {
        std::fprintf(stderr,
                     "rota: a task_group of routine %s#%llu goes without having been joined; "
                     "%zu children still refer to it\n",
                     owner_.name().c_str(), static_cast<unsigned long long>(owner_.id()), running_);
        std::terminate();
    }
}

void task_group::spawn(task<void> child, std::string name) noexcept {
    try {
        if (name.empty()) {
            name = owner_.name() + "/child";
        }
        ++running_;
        (void)owner_.owner().spawn(
            run(this, std::move(child)), assignment(owner_.home()),
            {.name = std::move(name), .on = nullptr, .report_errors = false});
    } catch (...) {
        fail(std::current_exception());
        --running_;
    }
}

void task_group::fail(std::exception_ptr error) noexcept {
    try {
        std::rethrow_exception(error);
    } catch (const operation_cancelled&) {
        cancelled_ = true;
        return;
    } catch (...) {
        if (!error_) {
            error_ = std::move(error);
        }
    }
    request_stop();
}

task<void> task_group::run(task_group* group, task<void> body) {
    try {
        routine& self = co_await current_routine;
        const std::stop_callback chain(group->token_, [&self] { self.request_stop(); });
        if (group->token_.stop_requested()) {
            throw operation_cancelled();
        }
        co_await std::move(body);
    } catch (...) {
        group->fail(std::current_exception());
    }
    group->child_ended();
}

void task_group::child_ended() noexcept {
    if (--running_ == 0 && joiner_ != nullptr) {
        // It runs on this worker, so not before this child has gone for good.
        std::exchange(joiner_, nullptr)->make_ready();
    }
}

void task_group::throw_if_failed() const {
    if (error_) {
        std::rethrow_exception(error_);
    }
    if (cancelled_ && parent_.stop_requested()) {
        throw operation_cancelled();
    }
}

} // namespace rota
