#include "directory.hpp"

#include <cerrno>
#include <string>
#include <system_error>

#include <catch2/catch_test_macros.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tree.hpp"

namespace rota::http {
namespace {

using effort = directory::effort;

/// What can be read there; "-" and the errno value if it cannot be opened.
std::string read_from(const directory& d, const std::string& path) {
    const descriptor file(d.open(path, O_RDONLY | O_NONBLOCK, effort::wait));
    if (file.get() < 0)
        return std::to_string(file.get());
    std::string bytes(100, '\0');
    const ssize_t got = ::read(file.get(), bytes.data(), bytes.size());
    bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return bytes;
}

TEST_CASE("an opening that a signal interrupts is tried again") {
    int calls = 0;
    const auto open = [&calls](int last) {
        errno = ++calls < 3 ? EINTR : ENOENT;
        return calls < 3 ? -1L : long{last};
    };
    CHECK(uninterrupted([&] { return open(7); }) == 7);
    CHECK(calls == 3);
    CHECK(uninterrupted([&] { return open(-1); }) == -ENOENT);
}

TEST_CASE("what is below is opened, what leads out is not") {
    const test::tree files;
    files.make_directory("a/b");
    files.put("a/b/file", "inside");
    files.put_outside("secret", "outside");
    files.link("a/b/file", "link");
    files.link("../b", "a/b/up");
    files.link(files.at("a/b"), "whole"); // by its whole path
    files.link("../secret", "out");
    files.link(files.outside(), "all");
    files.link("a/b/../../../secret", "winding");
    files.link("all/secret", "chain");
    files.link("loop", "loop");
    files.link("/proc/self/root", "magic");
    const std::string out = std::to_string(-EXDEV);
    for (const bool by_openat2 : {true, false}) {
        INFO(by_openat2);
        const directory root(files.root(), by_openat2);
        CHECK(read_from(root, "a/b/file") == "inside");
        CHECK(read_from(root, "link") == "inside");
        CHECK(read_from(root, "a/b/up/up/file") == "inside");
        CHECK(read_from(root, "whole/file") == "inside");
        CHECK(read_from(root, "out") == out);
        CHECK(read_from(root, "all/secret") == out);
        CHECK(read_from(root, "winding") == out);
        CHECK(read_from(root, "chain") == out);
        CHECK(read_from(root, "../secret") == out);
        CHECK(read_from(root, files.outside() + "/secret") == out);
        CHECK(read_from(root, "loop") == std::to_string(-ELOOP));
        CHECK(read_from(root, "magic/etc/passwd") == out);
        CHECK(read_from(root, "none") == std::to_string(-ENOENT));
        CHECK(read_from(root, "link/x") == std::to_string(-ENOTDIR));
        CHECK(read_from(root, std::string(5000, 'x')) == std::to_string(-ENAMETOOLONG));
        CHECK(descriptor(root.open("", O_PATH, effort::wait)).get() >= 0);
    }
}

TEST_CASE("a directory with a name like that of the root is not below it") {
    const test::tree files;
    std::filesystem::create_directory(files.root() + "-other");
    files.put_outside("site-other/secret", "outside");
    files.link("../site-other", "other");
    for (const bool by_openat2 : {true, false}) {
        const directory root(files.root(), by_openat2);
        CHECK(read_from(root, "other/secret") == std::to_string(-EXDEV));
    }
}

TEST_CASE("nothing is waited for where it shall not be") {
    const test::tree files;
    files.put("file", "inside");
    const directory root(files.root());
    CHECK(read_from(root, "file") == "inside"); // now its name is in memory
    const descriptor known(root.open("file", O_PATH, effort::only_cached));
    CHECK((known.get() >= 0 || known.get() == -EAGAIN));
    const directory without(files.root(), false);
    CHECK(without.open("file", O_PATH, effort::only_cached) == -EAGAIN);
}

TEST_CASE("what is no directory cannot be served") {
    const test::tree files;
    files.put("file", "");
    CHECK_THROWS_AS(directory(files.at("file")), std::system_error);
    CHECK_THROWS_AS(directory(files.at("none")), std::system_error);
}

TEST_CASE("a directory that its server must not enter cannot be served") {
    const test::tree files;
    files.make_directory("closed");
    const std::string closed = files.at("closed");
    const directory open(closed);
    REQUIRE(::chmod(closed.c_str(), 0) == 0);
    const uid_t before = ::geteuid();
    if (before == 0) // to which nothing is closed
        REQUIRE(::seteuid(65534) == 0);
    CHECK_THROWS_AS(directory(closed), std::system_error);
    CHECK(::seteuid(before) == 0);
    CHECK(::chmod(closed.c_str(), 0700) == 0);
}

} // namespace
} // namespace rota::http
