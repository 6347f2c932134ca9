#include <rota/task_group.hpp>

#include <coroutine>
#include <cstdio>
#include <optional>
#include <system_error>
#include <utility>

#include <rota/errors.hpp>
#include <rota/worker.hpp>

namespace rota {

/// A child. Its own token is the one that stops it, so that it can be stopped alone too; the
/// group's reaches it from when it begins until its body has ended.
class task_group::child final : public routine {
public:
    child(task_group& group, std::string name, task<void> body)
        : routine(group.owner_.owner(), group.owner_.home(), std::move(name), false), group_(group),
          body_(std::move(body)) {}

    [[nodiscard]] const task_group& group() const noexcept { return group_; }

private:
    struct stopper {
        routine* self;
        void operator()() const noexcept { self->request_stop(); }
    };

    bool resume_body() override {
        if (on_stop_) {
            take_resume_point().resume();
            if (!body_.coroutine().done()) {
                return false;
            }
        } else if (group_.stop_.token().stop_requested()) {
            group_.cancelled_ = true;
            body_.drop();
            end();
            return true;
        } else {
            on_stop_.emplace(group_.stop_.token(), stopper{this});
            auto& promise = body_.coroutine().promise();
            promise.set_context(*this, stop_token());
            if (promise.start(body_.coroutine(), std::noop_coroutine())) {
                return false;
            }
        }
        on_stop_.reset();
        try {
            body_.coroutine().promise().take();
        } catch (...) {
            group_.fail(std::current_exception());
        }
        end();
        return true;
    }

    void end() noexcept {
        body_ = task<void>(); // what it holds goes before the parent goes on
        group_.child_ended();
    }

    task_group& group_; // not touched after end(): it may be gone
    task<void> body_;
    std::optional<std::stop_callback<stopper>> on_stop_; // there from the beginning to the end
};

task_group::task_group(const task_context& context)
    : owner_(context.owner()), parent_(context.token()), stop_(parent_) {}

task_group::~task_group() {
    if (running_ != 0) {
        std::fprintf(stderr,
                     "rota: a task_group of routine %s#%llu goes without having been joined; "
                     "%zu children still refer to it\n",
                     owner_.name().c_str(), static_cast<unsigned long long>(owner_.id()), running_);
        std::terminate();
    }
}

void task_group::start(task<void> body, std::string name) noexcept {
    ++running_;
    try {
        if (name.empty()) {
            name = owner_.name() + "/child";
        }
        assignment place(owner_.home());
        (void)owner_.owner().start(
            routine_ptr::adopt(*new child(*this, std::move(name), std::move(body))),
            std::move(place));
    } catch (...) {
        body.drop();
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

void task_group::child_ended() noexcept {
    ROTA_CHECK(running_ != 0, "a child ends once");
    if (--running_ == 0 && joiner_ != nullptr) {
        // It runs on this worker, so not before this child has gone for good.
        std::exchange(joiner_, nullptr)->make_ready();
    }
}

/// Throws if the wait of `by` could not end.
void task_group::check_joiner(const routine& by) const {
    const auto refuse = [](const char* why) {
        throw std::system_error(std::make_error_code(std::errc::resource_deadlock_would_occur),
                                why);
    };
    const routine* r = &by;
    while (r != &owner_) {
        const auto* const below = dynamic_cast<const child*>(r);
        if (below == nullptr)
            break;
        if (&below->group() == this)
            refuse("task_group: joined by a child of its own");
        r = &below->group().owner_;
    }
    if (joiner_ != nullptr)
        refuse("task_group: joined by two at once");
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
