#include "uring_refusal.hpp"

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <limits>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/utsname.h>

namespace rota::io {
namespace {

/// The sysctl says more than the filter: it holds whatever container this is.
std::string explain_forbidden(const uring_surroundings& where) {
    if (where.disabled == 2)
        return "the sysctl kernel.io_uring_disabled is 2: nobody may use it";
    if (where.disabled == 1) {
        return fmt::format("the sysctl kernel.io_uring_disabled is 1: only the group in "
                           "kernel.io_uring_group and CAP_SYS_ADMIN may use it{}",
                           where.filtered ? "; a seccomp filter is in force, too" : "");
    }
    if (where.filtered)
        return "a seccomp filter forbids it, as container runtimes do";
    return "neither seccomp nor kernel.io_uring_disabled forbids it: a security module may";
}

bool is_too_old(const std::string& kernel) {
    unsigned major = 0;
    unsigned minor = 0;
    const bool known = std::sscanf(kernel.c_str(), "%u.%u", &major, &minor) == 2;
    return known && (major < 6 || (major == 6 && minor < 1));
}

std::string explain_no_memory(const uring_surroundings& where) {
    std::string text = "not even the smallest ring fits: the memory of the cgroup is used up";
    if (where.locked_bytes_max != std::numeric_limits<std::uint64_t>::max()) {
        text += fmt::format(", or the limit on locked memory (ulimit -l, {} KiB) is too low",
                            where.locked_bytes_max / 1024);
    }
    return text;
}

} // namespace

uring_surroundings look_around() {
    uring_surroundings found;
    if (std::ifstream sysctl("/proc/sys/kernel/io_uring_disabled"); !(sysctl >> found.disabled))
        found.disabled = 0;
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("Seccomp:"))
            found.filtered = line.ends_with('2');
    }
    if (utsname name{}; ::uname(&name) == 0)
        found.kernel = name.release;
    rlimit locked{};
    const bool limited =
        ::getrlimit(RLIMIT_MEMLOCK, &locked) == 0 && locked.rlim_cur != RLIM_INFINITY;
    found.locked_bytes_max = limited ? locked.rlim_cur : std::numeric_limits<std::uint64_t>::max();
    return found;
}

std::string explain_refusal(int error, const uring_surroundings& where) {
    switch (error) {
    case EPERM:
    case EACCES:
        return explain_forbidden(where);
    case ENOSYS:
        return where.filtered ? fmt::format("a seccomp filter hides it, or the kernel, {}, was "
                                            "built without it",
                                            where.kernel)
                              : fmt::format("the kernel, {}, has none", where.kernel);
    case EINVAL:
    case EOPNOTSUPP:
        if (is_too_old(where.kernel))
            return fmt::format("the kernel, {}, is too old: 6.1 is needed", where.kernel);
        return where.filtered ? "a seccomp filter refuses it, or a part of it"
                              : fmt::format("the kernel, {}, lacks a part of it", where.kernel);
    case ENOMEM:
        return explain_no_memory(where);
    case EMFILE:
    case ENFILE:
        return "there is no descriptor left for a ring";
    default:
        return {};
    }
}

std::string explain_failure(const std::system_error& failure) {
    const std::string why = explain_refusal(failure.code().value(), look_around());
    return why.empty() ? failure.what() : fmt::format("{}; {}", failure.what(), why);
}

} // namespace rota::io
