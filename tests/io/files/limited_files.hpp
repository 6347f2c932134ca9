#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iterator>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace rota::http::test {

inline std::size_t open_files() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all))) - 1; // its own
}

/// Lets so many further descriptors be opened and no more, as long as it lives.
class limited_files {
public:
    explicit limited_files(std::size_t more) {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        rlimit now = before_;
        const int lowest = ::fcntl(0, F_DUPFD_CLOEXEC, 0); // numbers below are in use
        ::close(lowest);
        now.rlim_cur = static_cast<rlim_t>(lowest) + more;
        ::setrlimit(RLIMIT_NOFILE, &now);
    }
    limited_files(const limited_files&) = delete;
    limited_files& operator=(const limited_files&) = delete;
    ~limited_files() { ::setrlimit(RLIMIT_NOFILE, &before_); }

private:
    rlimit before_{};
};

} // namespace rota::http::test
