#pragma once

// io_uring refused by a seccomp filter, as container runtimes refuse it (man 2 seccomp).

#include <array>
#include <cstddef>
#include <cstdint>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

namespace rota::io::test {

/// From now on the system call `number` with a first argument above `above` ends with the errno
/// value `error`, for this thread, those that it starts, and the programs that it runs. It cannot
/// be taken back. False if filters are not allowed.
inline bool refuse_call(long number, int error, unsigned above = 0) noexcept {
    const auto refuse = SECCOMP_RET_ERRNO | (static_cast<std::uint32_t>(error) & SECCOMP_RET_DATA);
    // The lower half of an argument comes first on the machines that this runs on.
    std::array<sock_filter, 6> rules{{
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(number), 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, above, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, refuse),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    }};
    const sock_fprog program{.len = rules.size(), .filter = rules.data()};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// As above for the three calls of io_uring; with `above` not 0 for rings of more than so many
/// entries, which may not be set up.
inline bool refuse_uring(int error, unsigned above = 0) noexcept {
    if (!refuse_call(SYS_io_uring_setup, error, above))
        return false;
    return above != 0 ||
           (refuse_call(SYS_io_uring_enter, error) && refuse_call(SYS_io_uring_register, error));
}

} // namespace rota::io::test
