#include <rota/task.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>

#include <rota/detail/stack_trace.hpp>
#include <rota/routine.hpp>

namespace rota::detail {
namespace {

/// The name of a coroutine's function, from its frame: GCC and Clang both begin that with pointers
/// to the functions that resume and destroy it, and leave the second when it has ended.
std::string function_of(std::coroutine_handle<> coroutine) {
    return describe_stack(std::array{coroutine_frame::destroyer(coroutine)}).front();
}

} // namespace

void task_misused(std::coroutine_handle<> awaited, std::coroutine_handle<> by, const routine& owner,
                  const std::source_location& where) noexcept {
    const std::string what = awaited ? "the task " + function_of(awaited) + "() is awaited twice"
                                     : std::string("a task that is empty is awaited");
    std::fprintf(stderr, "rota: %s, by %s() at %s:%u, in routine %s#%llu\n", what.c_str(),
                 function_of(by).c_str(), where.file_name(), where.line(), owner.name().c_str(),
                 static_cast<unsigned long long>(owner.id()));
    std::abort();
}

void task_without_value(std::coroutine_handle<> ended) noexcept {
    std::fprintf(stderr, "rota: the task %s() has ended without a co_return of its result\n",
                 function_of(ended).c_str());
    std::abort();
}

void throw_unusable() {
    throw std::invalid_argument("rota: a task that is empty or was awaited cannot be run");
}

void throw_returned_unusable() {
    throw std::logic_error("rota: a function has returned a task that is empty or was awaited");
}

void destroy_checked(std::coroutine_handle<> coroutine, const promise_base& promise,
                     bool on_purpose) noexcept {
    // Frames that are being destroyed although they have not come to their end.
    static constinit thread_local unsigned unfinished = 0;
    const bool forgotten = !promise.started() && !promise.made() && !on_purpose;
    if (forgotten && unfinished == 0 && std::uncaught_exceptions() == 0) {
        std::fprintf(stderr,
                     "rota: the task %s() was never awaited, so it has not run: write co_await, "
                     "or drop() it\n",
                     function_of(coroutine).c_str());
        std::abort();
    }
    const unsigned more = promise.succeeded() ? 0 : 1;
    unfinished += more;
    coroutine.destroy();
    unfinished -= more;
}

} // namespace rota::detail
