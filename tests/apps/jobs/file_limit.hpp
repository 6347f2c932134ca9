#pragma once

#include <csignal>

#include <sys/resource.h>

/// Files of this process do not grow beyond so much (man 2 setrlimit: EFBIG once SIGXFSZ is
/// ignored).
class file_limit {
public:
    explicit file_limit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit small{bytes, before_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &small);
    }
    file_limit(const file_limit&) = delete;
    file_limit& operator=(const file_limit&) = delete;
    ~file_limit() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }

private:
    rlimit before_{};
    void (*handler_)(int);
};
