#pragma once

#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <source_location>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include <rota/detail/runnable.hpp>
#include <rota/task.hpp>
#include <rota/wait_list.hpp>

namespace rota {

class executor;
class worker;
class routine_registry;

/// ready: in a run queue; running: its worker executes it; blocked: waits for something; stopped:
/// has ended.
enum class routine_state : std::uint8_t { ready, running, blocked, stopped };

[[nodiscard]] std::string_view to_string(routine_state state) noexcept;

/// What a blocked routine waits for: a copy for a listing.
struct blocked_routine {
    std::uint64_t id = 0;
    std::string name;
    std::string what;     ///< the operation, e.g. "channel::pop"
    std::string function; ///< where it waits (std::source_location)
    std::string file;
    std::uint32_t line = 0;
    std::chrono::steady_clock::time_point
        since; ///< to the precision of one turn of the worker's loop; 0 if it has not waited yet
    std::size_t worker = 0;
    /// Equal for all that wait for one thing; null where each waits for something of its own (a
    /// timer, its connection). Only to be compared: it may be gone.
    const void* on = nullptr;
};

/// The scheduled unit (the references' Task): a body that one worker resumes, step by step, until
/// it has stopped.
///
/// States go ready -> running -> (blocked -> ready -> running)* -> stopped. It is resumed only by
/// the holder of its worker's baton, so its code never runs on two threads at once.
/// Reference-counted: the executor holds one reference until the routine has stopped, every
/// routine_ptr another.
///
/// Thread-safety: const members, request_stop() and make_ready() are for any thread; suspend() is
/// for the routine itself.
class routine : public runnable {
public:
    /// `report_errors`: whether an exception that ends it is passed to the executor's error
    /// handler.
    routine(executor& owner, worker& home, std::string name, bool report_errors = true);
    routine(const routine&) = delete;
    routine& operator=(const routine&) = delete;

    [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] routine_state state() const noexcept {
        return state_.load(std::memory_order_acquire);
    }
    /// Returns its worker, and what runs that; a routine may be kept beyond both.
    [[nodiscard]] worker& home() const noexcept { return home_; }
    [[nodiscard]] executor& owner() const noexcept { return owner_; }

    /// Asks every wait of the routine, and of what it awaits, to end with operation_cancelled.
    void request_stop() noexcept { stop_.request_stop(); }
    [[nodiscard]] const std::stop_token& stop_token() const noexcept { return token_; }

    /// Returns the exception that ended it, null if none did. Only once it has stopped.
    [[nodiscard]] std::exception_ptr error() const noexcept { return error_; }

    /// Notes where to resume and what is waited for, and marks the routine blocked. Called by an
    /// awaiter's await_suspend, before the routine becomes visible to what will wake it; exactly
    /// one make_ready() must follow. `on` is what others may wait for, too: see blocked_routine.
    void suspend(std::coroutine_handle<> resume_point, const char* what,
                 const std::source_location& where, const void* on = nullptr) noexcept;
    /// Puts the routine into its worker's run queue. Once for each suspend(). Any thread.
    void make_ready() noexcept;
    /// Does what make_ready() does, but runs it at once, in the step of what has been waited for
    /// (worker::run_here()). The baton holder, not from inside a routine.
    void run_now() noexcept;
    /// Does what make_ready() does, with nothing to wait for: lets the worker's other routines go
    /// first. The routine itself.
    void yield(std::coroutine_handle<> resume_point) noexcept;
    /// Counts an await that need not wait, and yields if that has spent the budget of the step
    /// (budget.hpp). Returns true if it has yielded; return it from await_suspend. The routine
    /// itself.
    [[nodiscard]] bool yield_if_spent(std::coroutine_handle<> resume_point) noexcept {
        return detail::yield_if_spent(*this, resume_point);
    }

    /// Returns a copy of what it waits for, or nothing if it is not blocked.
    [[nodiscard]] std::optional<blocked_routine> blocked_on() const;
    /// Returns its last wait, over or not; `what` is empty if it has had none.
    [[nodiscard]] blocked_routine last_wait() const;

    /// Blocks the calling thread until the routine has stopped. Not from inside a routine:
    /// `co_await join(r)` there.
    void wait_stopped() const noexcept;

protected:
    friend class routine_ptr;
    friend class join_awaiter;
    virtual ~routine();
    /// Runs the body until it suspends or ends; returns true when it has ended. Baton holder only.
    virtual bool resume_body() = 0;
    std::coroutine_handle<> take_resume_point() noexcept {
        return std::exchange(resume_point_, nullptr);
    }
    void set_error(std::exception_ptr error) noexcept { error_ = std::move(error); }

private:
    friend class routine_registry;
    static void run(runnable& self) noexcept;
    void step() noexcept;
    void finish() noexcept;
    void add_reference() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
    void drop_reference() noexcept;

    // -- set once, read by all
    executor& owner_;
    worker& home_;
    const std::uint64_t id_;
    const std::string name_;
    const bool report_errors_;
    const std::uint32_t home_index_;
    std::stop_source stop_;
    const std::stop_token token_ = stop_.get_token();

    // -- the holder of the worker's baton
    std::coroutine_handle<> resume_point_;
    std::exception_ptr error_;

    // -- any thread
    std::atomic<routine_state> state_{routine_state::ready};
    std::atomic<std::uint32_t> references_{1};
    /// What wait_stopped() waits for: goes_on -> awaited, by a thread that is about to sleep, and
    /// either -> over. An int, since libstdc++ wakes threads that wait for any other type also for
    /// the sake of others; and only what is awaited costs a system call.
    mutable std::atomic<int> end_{goes_on};
    static constexpr int goes_on = 0;
    static constexpr int awaited = 1;
    static constexpr int over = 2;

    // -- written by the baton holder, read for listings; odd version_ = being written
    std::atomic<std::uint32_t> version_{0};
    std::atomic<const char*> what_{nullptr};
    std::atomic<const char*> function_{nullptr};
    std::atomic<const char*> file_{nullptr};
    std::atomic<const void*> on_{nullptr};
    std::atomic<std::uint32_t> line_{0};
    std::atomic<std::int64_t> since_ns_{0};

    // -- the registry's lock
    routine* previous_ = nullptr;
    routine* next_in_registry_ = nullptr;

    // -- those that join
    std::mutex join_lock_;
    wait_list joiners_;
};

/// Shared ownership of a routine. Empty by default.
class routine_ptr {
public:
    routine_ptr() noexcept = default;
    explicit routine_ptr(routine& r) noexcept : routine_(&r) { r.add_reference(); }
    routine_ptr(const routine_ptr& other) noexcept : routine_(other.routine_) {
        if (routine_ != nullptr)
            routine_->add_reference();
    }
    routine_ptr(routine_ptr&& other) noexcept : routine_(std::exchange(other.routine_, nullptr)) {}
    routine_ptr& operator=(routine_ptr other) noexcept {
        std::swap(routine_, other.routine_);
        return *this;
    }
    ~routine_ptr() {
        if (routine_ != nullptr)
            routine_->drop_reference();
    }
    /// Takes over the reference that the routine was created with.
    static routine_ptr adopt(routine& r) noexcept {
        routine_ptr result;
        result.routine_ = &r;
        return result;
    }

    /// Gives the reference away.
    [[nodiscard]] routine* release() noexcept { return std::exchange(routine_, nullptr); }
    [[nodiscard]] routine* get() const noexcept { return routine_; }
    routine& operator*() const noexcept { return *routine_; }
    routine* operator->() const noexcept { return routine_; }
    explicit operator bool() const noexcept { return routine_ != nullptr; }

private:
    routine* routine_ = nullptr;
};

} // namespace rota
