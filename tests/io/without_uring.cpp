// Runs a program from which io_uring is kept. Test programs that can do with epoll go on with that;
// `meson test --setup epoll` runs all of them so.

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <map>
#include <string_view>

#include <unistd.h>

#include "refuse_uring.hpp"

int main(int argc, char** argv) {
    const std::map<std::string_view, int> errors{
        {"EPERM", EPERM}, {"ENOSYS", ENOSYS}, {"ENOMEM", ENOMEM}, {"EINVAL", EINVAL}};
    const auto error = errors.find(argc > 1 ? argv[1] : "");
    unsigned above = 0;
    int at = 2;
    if (argc > 3 && std::string_view(argv[2]) == "--above") {
        const std::string_view count = argv[3];
        const auto [end, wrong] = std::from_chars(count.data(), count.data() + count.size(), above);
        at = wrong == std::errc() && end == count.data() + count.size() ? 4 : argc;
    }
    if (error == errors.end() || at >= argc) {
        std::fprintf(stderr,
                     "usage: without_uring EPERM|ENOSYS|ENOMEM|EINVAL [--above entries] program "
                     "[argument...]\n");
        return 2;
    }
    if (!rota::io::test::refuse_uring(error->second, above)) {
        std::perror("without_uring: seccomp");
        return 1;
    }
    ::execvp(argv[at], argv + at);
    std::fprintf(stderr, "without_uring: %s: %s\n", argv[at], std::strerror(errno));
    return 1;
}
