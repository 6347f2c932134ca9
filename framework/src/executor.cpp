#include <rota/executor.hpp>

#include <rota/detail/one_line.hpp>

#include <array>
#include <cstdio>
#include <new>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace rota {
namespace {

void write_to_stderr(const routine& r, std::exception_ptr error) {
    const char* const what = r.error() ? "ended by" : "goes on after";
    try {
        std::rethrow_exception(std::move(error));
    } catch (const std::exception& e) {
        std::fprintf(stderr, "rota: routine %s#%llu %s an exception: %s\n", r.name().c_str(),
                     static_cast<unsigned long long>(r.id()), what,
                     detail::one_line(e.what()).c_str());
    } catch (...) {
        std::fprintf(stderr, "rota: routine %s#%llu %s an exception of unknown type\n",
                     r.name().c_str(), static_cast<unsigned long long>(r.id()), what);
    }
}

/// A routine whose body is a task.
class task_routine final : public routine {
public:
    task_routine(executor& owner, worker& home, std::string name, task<void> body, bool report)
        : routine(owner, home, std::move(name), report), body_(std::move(body)) {}

private:
    bool resume_body() override {
        if (!started_) {
            started_ = true;
            auto& promise = body_.coroutine().promise();
            promise.set_context(*this, stop_token());
            if (promise.start(body_.coroutine(), std::noop_coroutine()))
                return false;
        } else {
            take_resume_point().resume();
            if (!body_.coroutine().done())
                return false;
        }
        try {
            body_.coroutine().promise().take();
        } catch (const operation_cancelled&) {
            // Ended in good order.
        } catch (...) {
            set_error(std::current_exception());
        }
        body_ = task<void>(); // its frame goes now, however long the routine is referred to
        return true;
    }

    task<void> body_;
    bool started_ = false;
};

constinit std::mutex registries_lock;

} // namespace

constinit routine_registry* detail::first_registry = nullptr;

routine_registry::routine_registry() {
    const std::lock_guard guard(registries_lock);
    next_registry_ = std::exchange(detail::first_registry, this);
}

routine_registry::~routine_registry() {
    const std::lock_guard guard(registries_lock);
    routine_registry** at = &detail::first_registry;
    while (*at != this)
        at = &(*at)->next_registry_;
    *at = next_registry_;
}

void routine_registry::add(routine& r) {
    bool stopping = false;
    {
        const std::lock_guard guard(lock_);
        r.previous_ = nullptr;
        r.next_in_registry_ = first_;
        if (first_ != nullptr)
            first_->previous_ = &r;
        first_ = &r;
        ++size_;
        r.home().count_routines(1);
        stopping = stopping_;
    }
    if (stopping) {
        r.request_stop();
    }
}

void routine_registry::remove(routine& r) noexcept {
    const routine_ptr dropped = routine_ptr::adopt(r); // freed after the lock
    const std::lock_guard guard(lock_);
    ROTA_CHECK(size_ != 0, "only what was added is removed");
    (r.previous_ != nullptr ? r.previous_->next_in_registry_ : first_) = r.next_in_registry_;
    if (r.next_in_registry_ != nullptr)
        r.next_in_registry_->previous_ = r.previous_;
    r.home().count_routines(-1);
    if (--size_ == 0)
        emptied_.notify_all();
}

std::size_t routine_registry::size() const {
    const std::lock_guard guard(lock_);
    return size_;
}

std::vector<blocked_routine> routine_registry::blocked() const {
    std::vector<blocked_routine> result;
    const std::lock_guard guard(lock_);
    for (const routine* r = first_; r != nullptr; r = r->next_in_registry_) {
        if (auto b = r->blocked_on())
            result.push_back(std::move(*b));
    }
    return result;
}

std::size_t routine_registry::blocked_count() const {
    std::size_t count = 0;
    const std::lock_guard guard(lock_);
    for (const routine* r = first_; r != nullptr; r = r->next_in_registry_)
        count += r->state() == routine_state::blocked ? 1 : 0;
    return count;
}

blocked_routine routine_registry::describe(const runnable* step) const {
    const std::lock_guard guard(lock_);
    for (const routine* r = first_; r != nullptr; r = r->next_in_registry_) {
        if (r == step)
            return r->last_wait();
    }
    return {};
}

void routine_registry::request_stop_all() {
    // Stop callbacks may take other locks, so they run outside this one.
    std::vector<routine_ptr> some;
    std::array<routine_ptr, 1> one; // at a time, where there is no memory for all
    for (std::span<routine_ptr> room; room.size() <= one.size();) {
        std::size_t count = 0;
        {
            const std::lock_guard guard(lock_);
            stopping_ = true;
            try {
                some.resize(size_);
                room = some;
            } catch (const std::bad_alloc&) {
                room = one;
            }
            for (routine* r = first_; r != nullptr && count < room.size(); r = r->next_in_registry_)
                if (!r->stop_token().stop_requested())
                    room[count++] = routine_ptr(*r);
        }
        for (routine_ptr& r : room.first(count))
            std::exchange(r, {})->request_stop();
        if (count == 0)
            return;
    }
}

void routine_registry::wait_empty() {
    std::unique_lock guard(lock_);
    emptied_.wait(guard, [this] { return size_ == 0; });
}

bool routine_registry::wait_empty_for(std::chrono::nanoseconds limit) {
    std::unique_lock guard(lock_);
    return emptied_.wait_for(guard, limit, [this] { return size_ == 0; });
}

assignment::assignment(worker& w) : worker_(&w) {
    if (!w.add_place()) {
        throw std::logic_error("rota: the worker has ended and takes no routines");
    }
}

executor::executor(error_handler on_error)
    : on_error_(on_error ? std::move(on_error) : error_handler(write_to_stderr)) {}

routine_ptr executor::spawn_task(task<void> body, spawn_options options) {
    assignment place = options.on != nullptr ? assignment(*options.on) : assign();
    return spawn_task(std::move(body), std::move(place), std::move(options));
}

routine_ptr executor::spawn_task(task<void> body, assignment place, spawn_options options) {
    auto r = routine_ptr::adopt(*new task_routine(*this, place.get(), std::move(options.name),
                                                  std::move(body), options.report_errors));
    return start(std::move(r), std::move(place));
}

routine_ptr executor::start(routine_ptr r, assignment place) {
    check_open();
    place.worker_ = nullptr; // the routine gives the place back when it stops
    registry_.add(*routine_ptr(r).release());
    r->home().post(*r);
    return r;
}

void executor::report(const routine& r, std::exception_ptr error) const noexcept {
    try {
        on_error_(r, std::move(error));
    } catch (...) {
        std::fprintf(stderr, "rota: the error handler threw for routine %s#%llu\n",
                     r.name().c_str(), static_cast<unsigned long long>(r.id()));
    }
}

} // namespace rota
