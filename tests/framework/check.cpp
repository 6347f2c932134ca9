#include <rota/check.hpp>

#include <array>
#include <csignal>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>

namespace {

struct ended {
    int status = 0;
    std::string said;
};

/// How a child process ends that runs `body`, and what it has written to stderr.
ended run_in_child(void (*body)()) {
    std::array<int, 2> pipe_ends{};
    REQUIRE(::pipe(pipe_ends.data()) == 0);
    const ::pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        ::dup2(pipe_ends[1], STDERR_FILENO);
        std::signal(SIGABRT, SIG_DFL); // the test runner's handler writes a report
        body();
        ::_exit(0);
    }
    ::close(pipe_ends[1]);
    ended result;
    std::array<char, 4096> buffer{};
    for (::ssize_t n = 0; (n = ::read(pipe_ends[0], buffer.data(), buffer.size())) > 0;)
        result.said.append(buffer.data(), static_cast<std::size_t>(n));
    ::close(pipe_ends[0]);
    REQUIRE(::waitpid(child, &result.status, 0) == child);
    return result;
}

} // namespace

TEST_CASE("a check that fails names what was violated, and aborts") {
    const ended e = run_in_child([] {
        const int linked = 2;
        ROTA_CHECK_ALWAYS(linked == 1, "a node is in one list");
    });
    CHECK(WIFSIGNALED(e.status));
    CHECK(WTERMSIG(e.status) == SIGABRT);
    CHECK(e.said.starts_with("rota: check failed: a node is in one list (linked == 1) at "));
    CHECK(e.said.find("check.cpp:") != std::string::npos);
    CHECK(e.said.ends_with("\n"));
}

TEST_CASE("a check that holds says nothing") {
    const ended e = run_in_child([] {
        ROTA_CHECK(1 + 1 == 2, "sums are right");
        ROTA_CHECK_ALWAYS(1 + 1 == 2, "sums are right");
    });
    CHECK(WIFEXITED(e.status));
    CHECK(WEXITSTATUS(e.status) == 0);
    CHECK(e.said.empty());
}

TEST_CASE("checks are evaluated where they are enabled, and nowhere else") {
    static int evaluated = 0;
    evaluated = 0;
    ROTA_CHECK([] { return ++evaluated; }() == 1, "the test counts");
    CHECK(evaluated == (rota::checks_enabled ? 1 : 0));
}

TEST_CASE("the tests run with checks") { CHECK(rota::checks_enabled); }
