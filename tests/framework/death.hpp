#pragma once

#include <array>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

/// Runs `what` in a child process, its stderr closed; true if std::terminate or abort ended it.
template <class What>
bool aborts(What&& what) {
    const pid_t child = ::fork();
    if (child == 0) {
        std::signal(SIGABRT, SIG_DFL); // not the test framework's
        const int nowhere = ::open("/dev/null", O_WRONLY);
        ::dup2(nowhere, STDERR_FILENO);
        what();
        ::_exit(0);
    }
    int status = 0;
    return child > 0 && ::waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
           WTERMSIG(status) == SIGABRT;
}

/// Runs `what` in a child process; what it has written to stderr if abort ended it, else nothing.
template <class What>
std::string last_words(What&& what) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0)
        return {};
    const pid_t child = ::fork();
    if (child == 0) {
        std::signal(SIGABRT, SIG_DFL); // not the test framework's
        ::dup2(ends[1], STDERR_FILENO);
        what();
        ::_exit(0);
    }
    ::close(ends[1]);
    std::string said;
    std::array<char, 4096> buffer{};
    for (ssize_t n = 0; (n = ::read(ends[0], buffer.data(), buffer.size())) > 0;)
        said.append(buffer.data(), static_cast<std::size_t>(n));
    ::close(ends[0]);
    int status = 0;
    const bool aborted = child > 0 && ::waitpid(child, &status, 0) == child &&
                         WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
    return aborted ? said : "";
}
