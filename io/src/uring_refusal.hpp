#pragma once

#include <cstdint>
#include <string>
#include <system_error>

namespace rota::io {

/// What there is to know of this process and its kernel where io_uring is not to be had.
struct uring_surroundings {
    /// The sysctl kernel.io_uring_disabled: 0 all may, 1 the privileged may, 2 nobody may. 0 where
    /// the kernel has no such sysctl.
    int disabled = 0;
    bool filtered = false;              ///< a seccomp filter is in force (man 2 seccomp)
    std::string kernel;                 ///< its release, as uname(2) tells it
    std::uint64_t locked_bytes_max = 0; ///< RLIMIT_MEMLOCK; all ones: no limit
};

/// Reads /proc, uname(2) and getrlimit(2); what cannot be read is left as if there were nothing to
/// say. Any thread; throws std::bad_alloc only.
[[nodiscard]] uring_surroundings look_around();

/// Why io_uring_setup(2), or what comes after it, ended with the errno value `error`: a few words
/// that tell an operator what to change. Empty if there is nothing to add to the error itself.
[[nodiscard]] std::string explain_refusal(int error, const uring_surroundings& where);

/// The failure itself, and why, as things are here.
[[nodiscard]] std::string explain_failure(const std::system_error& failure);

} // namespace rota::io
