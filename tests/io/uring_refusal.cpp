#include "uring_refusal.hpp"

#include <cerrno>
#include <limits>
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "refuse_uring.hpp"

using namespace rota::io;

namespace {

uring_surroundings plain() {
    return {.disabled = 0,
            .filtered = false,
            .kernel = "6.1.0-test",
            .locked_bytes_max = std::numeric_limits<std::uint64_t>::max()};
}

bool says(const std::string& text, const char* words) {
    INFO(text);
    CHECK(text.find(words) != std::string::npos);
    return text.find(words) != std::string::npos;
}

bool lacks(const std::string& text, const char* words) {
    INFO(text);
    CHECK(text.find(words) == std::string::npos);
    return text.find(words) == std::string::npos;
}

} // namespace

TEST_CASE("each cause of a refusal is told apart") {
    uring_surroundings where = plain();
    for (const int error : {EPERM, EACCES}) {
        where = plain();
        says(explain_refusal(error, where), "security module");
        where.filtered = true;
        says(explain_refusal(error, where), "a seccomp filter forbids it");
        where.disabled = 2;
        says(explain_refusal(error, where), "kernel.io_uring_disabled is 2");
        lacks(explain_refusal(error, where), "seccomp");
        where.disabled = 1;
        says(explain_refusal(error, where), "kernel.io_uring_disabled is 1");
        says(explain_refusal(error, where), "seccomp");
        where.filtered = false;
        says(explain_refusal(error, where), "kernel.io_uring_group");
        lacks(explain_refusal(error, where), "seccomp");
    }
    where = plain();
    says(explain_refusal(ENOSYS, where), "6.1.0-test, has none");
    lacks(explain_refusal(ENOSYS, where), "seccomp");
    where.filtered = true;
    says(explain_refusal(ENOSYS, where), "seccomp");
    for (const int error : {EINVAL, EOPNOTSUPP}) {
        where = plain();
        where.filtered = true;
        says(explain_refusal(error, where), "a seccomp filter refuses it");
        where.filtered = false;
        for (const char* kernel : {"6.1.0-test", "6.18.5", "7.0"}) {
            where.kernel = kernel;
            says(explain_refusal(error, where), "lacks a part of it");
        }
        for (const char* kernel : {"6.0.9", "5.15.0-1-generic"}) {
            where.kernel = kernel;
            says(explain_refusal(error, where), "too old: 6.1 is needed");
        }
    }
    says(explain_refusal(ENOMEM, where), "cgroup");
    lacks(explain_refusal(ENOMEM, where), "ulimit");
    where.locked_bytes_max = 65'536;
    says(explain_refusal(ENOMEM, where), "ulimit -l, 64 KiB");
    for (const int error : {EMFILE, ENFILE})
        says(explain_refusal(error, where), "descriptor");
    CHECK(explain_refusal(EIO, where).empty());
}

TEST_CASE("the surroundings are those of this process") {
    const uring_surroundings here = look_around();
    CHECK(here.disabled >= 0);
    CHECK(here.disabled <= 2);
    CHECK_FALSE(here.kernel.empty());
    CHECK(here.locked_bytes_max > 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const bool found = test::refuse_uring(EPERM) && look_around().filtered;
        ::_exit(found ? 0 : 1);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    CHECK(status == 0);
}
