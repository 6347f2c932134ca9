#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include <ucontext.h>

namespace rota {
class worker;
}
namespace rota::io {
class read_side;
}

namespace sim {

/// A thread of the simulation: a stack of its own on the one thread of the program (man 3
/// makecontext). Only the world switches to it, and it switches back to the world.
class fiber {
public:
    fiber(std::string name, std::function<void()> body, unsigned weight);
    ~fiber();
    fiber(const fiber&) = delete;
    fiber& operator=(const fiber&) = delete;

    /// Runs it until it calls leave() or ends. The world.
    void enter();
    /// Goes back to the world. The fiber itself.
    void leave();
    /// The one that runs, null if it is the world.
    static fiber* current() noexcept { return running_; }

    const std::string name;
    const unsigned weight;         ///< how often it is chosen, beside the others
    const bool serves;             ///< it is one of the server's
    int ample = 0;                 ///< memory: how many say so (memory.hpp)
    const void* purpose = nullptr; ///< as quiet_thread has it
    bool ended = false;

    // -- what it waits for; nothing: it can go on
    const char* what = "";
    std::function<bool()> ready;
    std::chrono::steady_clock::time_point until{};

private:
    static void main();
    void switch_in();
    void switch_out();
    void exchange_roles() noexcept;

    static fiber* running_;

    std::function<void()> body_;
    ucontext_t own_{};
    ucontext_t world_{};
    void* stack_;

    // What the C++ runtime and Rota keep for each thread, and this fiber has of its own.
    std::array<std::uintptr_t, 2> exceptions_{};
    const rota::io::read_side* drives_ = nullptr;
    rota::worker* holds_ = nullptr; // whose baton

    // What sanitizers want to know.
    void* fake_stack_ = nullptr;
    void* world_fake_stack_ = nullptr;
    const void* world_stack_ = nullptr;
    std::size_t world_stack_bytes_ = 0;
    void* tsan_self_ = nullptr;
    void* tsan_world_ = nullptr;
};

} // namespace sim
