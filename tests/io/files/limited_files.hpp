#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

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

/// Has all descriptors in use but `free`, as long as it lives: others come by closing some.
class used_up_files {
public:
    explicit used_up_files(std::size_t free) {
        int highest = 0;
        for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd"))
            highest = std::max(highest, std::stoi(each.path().filename()));
        for (int next = 0; next <= highest;) {
            next = ::fcntl(0, F_DUPFD_CLOEXEC, 0);
            fill_.push_back(next);
        }
        ::getrlimit(RLIMIT_NOFILE, &before_);
        rlimit now = before_;
        now.rlim_cur = static_cast<rlim_t>(fill_.back()) + 1;
        ::setrlimit(RLIMIT_NOFILE, &now);
        for (; free > 0 && !fill_.empty(); --free) {
            ::close(fill_.back());
            fill_.pop_back();
        }
    }
    used_up_files(const used_up_files&) = delete;
    used_up_files& operator=(const used_up_files&) = delete;
    ~used_up_files() {
        ::setrlimit(RLIMIT_NOFILE, &before_);
        for (const int each : fill_)
            ::close(each);
    }

private:
    std::vector<int> fill_;
    rlimit before_{};
};

} // namespace rota::http::test
