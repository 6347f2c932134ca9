// In the place of framework/src/parker.cpp and framework/src/quiet_thread.cpp: threads that are
// fibers, and sleep in virtual time.

#include <rota/detail/parker.hpp>
#include <rota/detail/quiet_thread.hpp>

#include <utility>

#include "world.hpp"

namespace rota {

bool parker::wait_until(clock::time_point deadline) {
    sim::here().wait(
        "a permit", [this] { return word_.load() == permit; }, deadline);
    return word_.exchange(empty) == permit;
}

void parker::notify() noexcept { word_.store(permit); }

struct quiet_thread::running {
    sim::fiber* thread;
};

quiet_thread::quiet_thread() noexcept = default;
quiet_thread::quiet_thread(quiet_thread&& other) noexcept = default;
quiet_thread& quiet_thread::operator=(quiet_thread&& other) noexcept = default;

quiet_thread::~quiet_thread() {
    if (joinable())
        join();
}

void quiet_thread::join() {
    // It may be joined under a lock, which no other fiber must then meet.
    if (!running_->thread->ended) {
        sim::here().wait("the end of a thread", [this] { return running_->thread->ended; });
    }
    running_.reset();
}

const void* quiet_thread::purpose() noexcept {
    const sim::fiber* const running = sim::fiber::current();
    return running != nullptr ? running->purpose : nullptr;
}

quiet_thread start_quiet_thread(const std::string& name, std::function<void()> body,
                                const void* purpose) {
    quiet_thread started;
    started.running_ = std::make_unique<quiet_thread::running>();
    started.running_->thread = &sim::here().start(name, std::move(body));
    started.running_->thread->purpose = purpose; // it has not run yet
    return started;
}

} // namespace rota
