#pragma once

#include <functional>
#include <memory>
#include <string>

namespace rota {

/// A thread that takes no signals: they are for the threads of the program itself (man 7 signal: a
/// signal goes to any thread that does not block it). The exception is SIGURG, which is ignored by
/// default, and by which it can be asked for its stack (stack_trace.hpp). Move-only; the destructor
/// joins. One thread at a time uses it.
///
/// Everything of Rota that runs beside something else runs on one of these, and sleeps on a
/// `parker`: a simulation that plays all threads on one replaces the sources of these two.
class quiet_thread {
public:
    quiet_thread() noexcept;
    quiet_thread(quiet_thread&& other) noexcept;
    quiet_thread& operator=(quiet_thread&& other) noexcept;
    ~quiet_thread();

    /// Returns false if it was not started, or has been joined.
    [[nodiscard]] bool joinable() const noexcept { return running_ != nullptr; }
    /// Waits for its end. It must be joinable.
    void join();
    /// Returns what the calling thread was started for, by start_quiet_thread(); null on others.
    [[nodiscard]] static const void* purpose() noexcept;

private:
    friend quiet_thread start_quiet_thread(const std::string& name, std::function<void()> body,
                                           const void* purpose);
    struct running;

    std::unique_ptr<running> running_;
};

/// Starts a thread that runs `body`. Up to 15 characters of `name` show in the system's listings.
/// `purpose`, the object that it works for, is only compared. Throws std::system_error if there can
/// be no more threads.
quiet_thread start_quiet_thread(const std::string& name, std::function<void()> body,
                                const void* purpose = nullptr);

} // namespace rota
