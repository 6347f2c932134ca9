#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace rota {

/// Prepares to ask threads of this process where they are: takes SIGURG, unless the program has a
/// handler for it, and loads what unwinding needs. Idempotent, any thread. Returns false if the
/// signal is the program's, and stack_of() finds nothing.
bool prepare_stack_traces() noexcept;

/// A question to the thread itself, in the signal's handler, so only atomics may be looked at.
struct stack_condition {
    bool (*holds)(const void* of) noexcept = nullptr; ///< null: always
    const void* of = nullptr;
};

/// Returns the return addresses on the stack of thread `id` (man 2 gettid) of this process,
/// innermost first, at most 64. Empty if `when` does not hold, or the thread does not answer within
/// `patience`: it is gone, blocks SIGURG, or sits in the kernel where no signal reaches it.
///
/// The thread is sent SIGURG, and writes its stack down in the handler (man 3 backtrace), so a
/// system call in which it waits may end with EINTR, once. One caller at a time, others wait.
[[nodiscard]] std::vector<void*> stack_of(int id, std::chrono::milliseconds patience,
                                          stack_condition when = {});

/// Returns the name of the function at each address, as far as symbol tables have it: that of the
/// program on disk, which names static functions too unless it has been stripped, and the dynamic
/// ones of libraries (man 3 dladdr). Else the file and the offset in it, for addr2line.
[[nodiscard]] std::vector<std::string> describe_stack(std::span<void* const> addresses);

} // namespace rota
