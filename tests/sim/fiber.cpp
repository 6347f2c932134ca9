#include "fiber.hpp"

#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include <cxxabi.h>
#include <sys/mman.h>

#include <rota/worker.hpp>

#include "read_side.hpp"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIM_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define SIM_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SIM_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define SIM_TSAN 1
#endif
#ifdef SIM_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef SIM_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace sim {
namespace {

constexpr std::size_t stack_bytes = std::size_t{1} << 20; // touched as far as it is used
constexpr std::size_t guard_bytes = 4096;

/// Stacks are used again: a page that has been touched once is not touched anew for each seed.
std::vector<void*>& spare_stacks() {
    static std::vector<void*> spare;
    return spare;
}

void* take_stack() {
    auto& spare = spare_stacks();
    if (!spare.empty()) {
        void* const used = spare.back();
        spare.pop_back();
        return used;
    }
    void* const fresh = ::mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (fresh == MAP_FAILED)
        throw std::bad_alloc();
    ::mprotect(fresh, guard_bytes, PROT_NONE);
    return fresh;
}

/// The exceptions that are being handled on this thread: two words (Itanium C++ ABI, section
/// 2.2.2). A fiber that waits while it handles one keeps them.
void exchange_exceptions(std::array<std::uintptr_t, 2>& mine) noexcept {
    std::array<std::uintptr_t, 2> theirs{};
    void* const place = abi::__cxa_get_globals();
    std::memcpy(theirs.data(), place, sizeof theirs);
    std::memcpy(place, mine.data(), sizeof mine);
    mine = theirs;
}

} // namespace

fiber* fiber::running_ = nullptr;

fiber::fiber(std::string called, std::function<void()> body, unsigned how_often)
    : name(std::move(called)), weight(how_often), serves(name.starts_with("rota-")),
      body_(std::move(body)), stack_(take_stack()) {
    ::getcontext(&own_);
    own_.uc_stack.ss_sp = stack_;
    own_.uc_stack.ss_size = stack_bytes;
    own_.uc_link = nullptr;
    ::makecontext(&own_, &fiber::main, 0);
#ifdef SIM_TSAN
    tsan_self_ = ::__tsan_create_fiber(0);
#endif
}

fiber::~fiber() {
#ifdef SIM_TSAN
    ::__tsan_destroy_fiber(tsan_self_);
#endif
    spare_stacks().push_back(stack_);
}

void fiber::switch_in() {
#ifdef SIM_ASAN
    ::__sanitizer_start_switch_fiber(&world_fake_stack_, stack_, stack_bytes);
#endif
#ifdef SIM_TSAN
    tsan_world_ = ::__tsan_get_current_fiber();
    ::__tsan_switch_to_fiber(tsan_self_, 0);
#endif
    ::swapcontext(&world_, &own_);
#ifdef SIM_ASAN
    ::__sanitizer_finish_switch_fiber(world_fake_stack_, nullptr, nullptr);
#endif
}

void fiber::switch_out() {
#ifdef SIM_ASAN
    // An ended fiber's fake stack goes with it.
    ::__sanitizer_start_switch_fiber(ended ? nullptr : &fake_stack_, world_stack_,
                                     world_stack_bytes_);
#endif
#ifdef SIM_TSAN
    ::__tsan_switch_to_fiber(tsan_world_, 0);
#endif
    ::swapcontext(&own_, &world_);
#ifdef SIM_ASAN
    ::__sanitizer_finish_switch_fiber(fake_stack_, &world_stack_, &world_stack_bytes_);
#endif
}

void fiber::exchange_roles() noexcept {
    drives_ = rota::io::read_side::play_driver_of(drives_);
    rota::worker* const theirs = rota::worker::current();
    rota::worker::restore(holds_);
    holds_ = theirs;
}

void fiber::enter() {
    running_ = this;
    exchange_exceptions(exceptions_);
    exchange_roles();
    switch_in();
    exchange_roles();
    exchange_exceptions(exceptions_);
    running_ = nullptr;
}

void fiber::leave() { switch_out(); }

void fiber::main() {
    fiber& self = *running_;
#ifdef SIM_ASAN
    ::__sanitizer_finish_switch_fiber(nullptr, &self.world_stack_, &self.world_stack_bytes_);
#endif
    self.body_();
    self.ended = true;
    self.switch_out(); // for good
}

} // namespace sim
