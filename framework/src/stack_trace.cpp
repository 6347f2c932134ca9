#include <rota/detail/stack_trace.hpp>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <thread>

#include <execinfo.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "symbols.hpp"

namespace rota {
namespace {

constexpr std::size_t frames_max = 64;

/// What is asked of the handler, and its answer. Static, because a handler has no argument of ours;
/// the lock is the asker's, the state word says whose turn it is. The handler of the thread that
/// wins `asked -> writing` fills the rest in and releases it by `answered`.
struct question {
    enum : int { none, asked, writing, answered };
    std::mutex one_at_a_time;
    std::atomic<int> state{none};
    std::atomic<int> thread{0};
    stack_condition when;
    std::array<void*, frames_max + 8> frames{};
    int count = 0;
    void* interrupted_at = nullptr;
};

constinit question the_question;

void* program_counter(const void* context) noexcept {
    [[maybe_unused]] const auto* const c = static_cast<const ucontext_t*>(context);
#if defined(__x86_64__)
    // NOLINTNEXTLINE(performance-no-int-to-ptr): that is how the kernel gives an address
    return reinterpret_cast<void*>(c->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    return reinterpret_cast<void*>(c->uc_mcontext.pc);
#else
    return nullptr;
#endif
}

void answer(int, siginfo_t*, void* context) noexcept {
    const int error = errno;
    question& q = the_question;
    int expected = question::asked;
    if (q.thread.load(std::memory_order_relaxed) == ::gettid() &&
        q.state.compare_exchange_strong(expected, question::writing)) {
        q.interrupted_at = program_counter(context);
        const bool wanted = q.when.holds == nullptr || q.when.holds(q.when.of);
        q.count = wanted ? ::backtrace(q.frames.data(), static_cast<int>(q.frames.size())) : 0;
        q.state.store(question::answered, std::memory_order_release);
    }
    errno = error;
}

bool install() noexcept {
    struct sigaction now {};
    if (::sigaction(SIGURG, nullptr, &now) != 0)
        return false;
    const bool taken = (now.sa_flags & SA_SIGINFO) != 0 ||
                       (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN);
    if (taken)
        return false;
    // The first call loads a library and allocates, which a handler must not.
    std::array<void*, 2> unused{};
    ::backtrace(unused.data(), static_cast<int>(unused.size()));
    struct sigaction mine {};
    mine.sa_sigaction = answer;
    mine.sa_flags = SA_SIGINFO | SA_RESTART;
    ::sigemptyset(&mine.sa_mask);
    return ::sigaction(SIGURG, &mine, nullptr) == 0;
}

} // namespace

bool prepare_stack_traces() noexcept {
    static const bool installed = install();
    return installed;
}

std::vector<void*> stack_of(int id, std::chrono::milliseconds patience, stack_condition when) {
    if (!prepare_stack_traces())
        return {};
    question& q = the_question;
    const std::lock_guard guard(q.one_at_a_time);
    q.thread.store(id, std::memory_order_relaxed);
    q.when = when;
    q.state.store(question::asked, std::memory_order_release);
    if (::syscall(SYS_tgkill, ::getpid(), id, SIGURG) != 0) {
        q.state.store(question::none);
        return {};
    }
    const auto limit = std::chrono::steady_clock::now() + patience;
    while (q.state.load(std::memory_order_acquire) != question::answered) {
        int expected = question::asked;
        if (std::chrono::steady_clock::now() > limit &&
            q.state.compare_exchange_strong(expected, question::none)) {
            return {};
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::vector<void*> stack;
    // The innermost ones are the handler's.
    const std::span all(q.frames.data(), static_cast<std::size_t>(q.count));
    std::size_t first = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i] == q.interrupted_at)
            first = i;
    }
    for (void* const frame : all.subspan(first)) {
        if (stack.size() < frames_max)
            stack.push_back(frame);
    }
    q.state.store(question::none, std::memory_order_release);
    return stack;
}

std::vector<std::string> describe_stack(std::span<void* const> addresses) {
    const symbol_table symbols;
    std::vector<std::string> names;
    names.reserve(addresses.size());
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        // But for the innermost these are return addresses: the call is before them.
        const std::size_t back = i == 0 ? 0 : 1;
        names.push_back(symbols.name_of(static_cast<const char*>(addresses[i]) - back));
    }
    return names;
}

} // namespace rota
