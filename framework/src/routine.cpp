#include <rota/routine.hpp>

#include <rota/detail/one_line.hpp>
#include <rota/executor.hpp>
#include <rota/worker.hpp>

namespace rota {

std::string_view to_string(routine_state state) noexcept {
    switch (state) {
    case routine_state::ready:
        return "ready";
    case routine_state::running:
        return "running";
    case routine_state::blocked:
        return "blocked";
    case routine_state::stopped:
        return "stopped";
    }
    return "unknown";
}

void waiter::wake() noexcept { owner->make_ready(); }

routine::routine(executor& owner, worker& home, std::string name, bool report_errors)
    : runnable(&routine::run), owner_(owner), home_(home), id_(owner.registry().next_id()),
      name_(detail::one_line(std::move(name))), report_errors_(report_errors),
      home_index_(static_cast<std::uint32_t>(home.index())) {}

routine::~routine() = default;

void routine::drop_reference() noexcept {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1)
        delete this;
}

void routine::suspend(std::coroutine_handle<> resume_point, const char* what,
                      const std::source_location& where, const void* on) noexcept {
    ROTA_CHECK(state() == routine_state::running, "a routine suspends while it runs");
    ROTA_CHECK(home_.is_held(), "a routine runs under its worker's baton");
    resume_point_ = resume_point;
    // A sequence lock whose fields are atomics: a reader that sees the version change looks again.
    // Release on each field keeps them behind the odd version; the state is stored last.
    const std::uint32_t version = version_.load(std::memory_order_relaxed);
    version_.store(version + 1, std::memory_order_relaxed);
    what_.store(what, std::memory_order_release);
    function_.store(where.function_name(), std::memory_order_release);
    file_.store(where.file_name(), std::memory_order_release);
    on_.store(on, std::memory_order_release);
    line_.store(where.line(), std::memory_order_release);
    since_ns_.store(home_.turn_time().time_since_epoch().count(), std::memory_order_release);
    version_.store(version + 2, std::memory_order_release);
    state_.store(routine_state::blocked, std::memory_order_release);
}

void routine::make_ready() noexcept {
    ROTA_CHECK(state() == routine_state::blocked, "a routine is made ready once for each wait");
    state_.store(routine_state::ready, std::memory_order_release);
    home_.post(*this);
}

void routine::run_now() noexcept {
    ROTA_CHECK(state() == routine_state::blocked, "a routine is made ready once for each wait");
    state_.store(routine_state::ready, std::memory_order_release);
    home_.run_here(*this);
}

void routine::yield(std::coroutine_handle<> resume_point) noexcept {
    ROTA_CHECK(state() == routine_state::running, "a routine yields while it runs");
    resume_point_ = resume_point;
    state_.store(routine_state::ready, std::memory_order_release);
    home_.count_yield();
    home_.post(*this);
}

bool detail::yield_if_spent(routine& self, std::coroutine_handle<> resume_point) noexcept {
    if (!self.home().spend())
        return false;
    self.yield(resume_point);
    return true;
}

blocked_routine routine::last_wait() const {
    const auto text = [](const char* t) { return std::string(t != nullptr ? t : ""); };
    for (;;) {
        const std::uint32_t before = version_.load(std::memory_order_acquire);
        const char* const what = what_.load(std::memory_order_acquire);
        const char* const function_name = function_.load(std::memory_order_acquire);
        const char* const file = file_.load(std::memory_order_acquire);
        const void* const on = on_.load(std::memory_order_acquire);
        const std::uint32_t line = line_.load(std::memory_order_acquire);
        const std::int64_t since = since_ns_.load(std::memory_order_acquire);
        if (before % 2 != 0 || version_.load(std::memory_order_relaxed) != before)
            continue;
        return blocked_routine{
            .id = id_,
            .name = name_,
            .what = text(what),
            .function = text(function_name),
            .file = text(file),
            .line = line,
            .since = worker::time_point(worker::time_point::duration(since)),
            .worker = home_index_,
            .on = on,
        };
    }
}

std::optional<blocked_routine> routine::blocked_on() const {
    for (;;) {
        const std::uint32_t before = version_.load(std::memory_order_acquire);
        if (state() != routine_state::blocked)
            return std::nullopt;
        blocked_routine last = last_wait();
        if (version_.load(std::memory_order_relaxed) == before)
            return last;
    }
}

void routine::wait_stopped() const noexcept {
    int seen = goes_on;
    if (end_.compare_exchange_strong(seen, awaited, std::memory_order_acquire))
        seen = awaited;
    while (seen != over) {
        end_.wait(awaited, std::memory_order_acquire);
        seen = end_.load(std::memory_order_acquire);
    }
}

void routine::run(runnable& self) noexcept { static_cast<routine&>(self).step(); }

void routine::step() noexcept {
    ROTA_CHECK(state() == routine_state::ready, "a routine that runs was ready");
    ROTA_CHECK(home_.is_held(), "a routine runs under its worker's baton");
    state_.store(routine_state::running, std::memory_order_release);
    if (resume_body())
        finish();
    // Otherwise suspend() or yield() has already said what comes next, and another thread may have
    // made it ready.
}

void routine::finish() noexcept {
    const routine_ptr keep(*this);
    if (error_ && report_errors_)
        owner_.report(*this, error_);
    waiter* joiners = nullptr;
    {
        const std::lock_guard guard(join_lock_);
        state_.store(routine_state::stopped, std::memory_order_release);
        joiners = joiners_.release();
    }
    wait_list::wake_chain(joiners);
    if (end_.exchange(over, std::memory_order_release) == awaited)
        end_.notify_all();
    worker& home = home_;
    owner_.registry().remove(*this); // drops the executor's reference
    home.remove_place();
}

} // namespace rota
