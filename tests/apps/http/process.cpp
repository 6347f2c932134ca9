#include "process.hpp"

#include <csignal>

#include <catch2/catch_test_macros.hpp>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace rota_http;

namespace {

/// The exit code of a child that runs `body`.
template <class Body>
int in_child(Body body) {
    const pid_t child = ::fork();
    if (child == 0)
        ::_exit(body());
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_CASE("files may have the descriptors that clients have no use for, or few") {
    CHECK(descriptors_for_files(20'000, 16'000) == 20'000 - 16'000 - 64);
    CHECK(descriptors_for_files(20'000, 100'000) == 625);
    CHECK(descriptors_for_files(1'048'576, 16'000) == 16'384);
    CHECK(descriptors_for_files(1'024, 16'000) == 32);
    CHECK(descriptors_for_files(10, 16'000) == 1);
    CHECK(descriptors_for_files(0, 0) == 1);
}

} // namespace

TEST_CASE("a process without standard descriptors gets some") {
    CHECK(in_child([] {
              ::close(0);
              ::close(1);
              ::close(2);
              prepare_process();
              const int next = ::dup(1);
              return next > 2 && ::write(2, "x", 1) == 1 ? 0 : 1;
          }) == 0);
}

TEST_CASE("signals are kept until they are waited for; a closed pipe and a full file are none") {
    CHECK(in_child([] {
              std::signal(SIGXFSZ, SIG_DFL); // it may be ignored where the tests run
              prepare_process();
              ::raise(SIGTERM);
              ::raise(SIGPIPE);
              ::raise(SIGXFSZ);
              sigset_t pending;
              ::sigpending(&pending);
              return ::sigismember(&pending, SIGTERM) == 1 ? 0 : 1;
          }) == 0);
}

TEST_CASE("the limit of descriptors is raised as far as it goes") {
    CHECK(in_child([] {
              rlimit limit{};
              ::getrlimit(RLIMIT_NOFILE, &limit);
              limit.rlim_cur = 64;
              ::setrlimit(RLIMIT_NOFILE, &limit);
              const std::size_t raised = raise_descriptor_limit();
              rlimit after{};
              ::getrlimit(RLIMIT_NOFILE, &after);
              return raised == limit.rlim_max && after.rlim_cur == limit.rlim_max ? 0 : 1;
          }) == 0);
}

TEST_CASE("some descriptors are not for connections") {
    CHECK(connections_within(1024, 10) == 960);
    CHECK(connections_within(130, 10) == 66);
    CHECK(connections_within(128, 10) == 64);
    CHECK(connections_within(64, 10) == 32);
    CHECK(connections_within(20, 10) == 6);
    CHECK(connections_within(14, 10) == 0);
    CHECK(connections_within(7, 10) == 0);
    const std::size_t before = open_descriptors();
    REQUIRE(before > 2);
    const int one = ::dup(2);
    CHECK(open_descriptors() == before + 1);
    ::close(one);
    CHECK(in_child([] {
              const rlimit few{.rlim_cur = 8, .rlim_max = 8};
              ::setrlimit(RLIMIT_NOFILE, &few);
              while (::dup(2) >= 0) {
              }
              return open_descriptors() == 8 ? 0 : 1;
          }) == 0);
}
