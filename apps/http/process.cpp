#include "process.hpp"

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <limits>
#include <system_error>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace rota_http {

void prepare_process() noexcept {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
        // The lowest free number is taken, and those below are open.
        if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)::open("/dev/null", O_RDWR);
    }
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN); // a write is EFBIG instead (ulimit -f), as on a full disk
    sigset_t taken;
    ::sigemptyset(&taken);
    ::sigaddset(&taken, SIGINT);
    ::sigaddset(&taken, SIGTERM);
    ::sigaddset(&taken, SIGHUP);
    ::sigaddset(&taken, SIGUSR1);
    ::pthread_sigmask(SIG_BLOCK, &taken, nullptr);
}

std::size_t raise_descriptor_limit() noexcept {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return std::numeric_limits<std::size_t>::max();
    const rlimit wanted{.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &wanted) == 0)
        limit = wanted;
    return limit.rlim_cur;
}

std::size_t open_descriptors() noexcept {
    std::error_code error;
    std::size_t count = 0;
    std::filesystem::directory_iterator each("/proc/self/fd", error);
    rlimit limit{};
    if (error == std::errc::too_many_files_open && ::getrlimit(RLIMIT_NOFILE, &limit) == 0)
        return limit.rlim_cur; // all: there is none to look with
    while (!error && each != std::filesystem::directory_iterator()) {
        ++count;
        each.increment(error);
    }
    return count;
}

} // namespace rota_http
