#include "site.hpp"

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <tuple>

#include <catch2/catch_test_macros.hpp>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <rota/http/date.hpp>

#include "tree.hpp"

namespace rota::http {
namespace {

using kind = site::finding::kind;

files_options quiet() { return {.types_file = ""}; }

TEST_CASE("a file is opened with what stands beside it") {
    const test::tree files;
    files.put("a.js", "plain");
    files.put("a.js.gz", "gzipped");
    files.put("a.js.br", "old");
    files.make_directory("a.js.zst");
    files.set_time("a.js", 2000);
    files.set_time("a.js.gz", 2000);
    files.set_time("a.js.br", 1999);
    site s(files.root(), quiet());
    const site::finding found = s.open("a.js");
    REQUIRE(found.what == kind::file);
    const site_file& file = *found.file;
    CHECK(file.type == "text/javascript; charset=utf-8");
    CHECK(file.plain.facts.size == 5);
    CHECK(file.plain.modified == std::chrono::sys_seconds(std::chrono::seconds(2000)));
    CHECK(file.has_siblings);
    CHECK_FALSE(file.siblings[0].there); // a directory
    CHECK(file.siblings[1].there);
    CHECK_FALSE(file.siblings[1].fits); // older
    REQUIRE(file.siblings[2].fits);
    CHECK(file.siblings[2].of.facts.size == 7);
    CHECK(file.siblings[2].of.tag != file.plain.tag);
    CHECK(file.plain.stays == "ETag: \"" + file.plain.tag + "\"\r\nVary: Accept-Encoding\r\n");
    CHECK(file.siblings[2].of.fields.find("Content-Encoding: gzip\r\n") != std::string::npos);
    CHECK_FALSE(site(files.root(), {.precompressed = false}).open("a.js").file->has_siblings);
}

std::int64_t modified_s(site& of, const std::string& path) {
    return of.open(path).file->plain.modified.time_since_epoch().count();
}

TEST_CASE("the second of the last write is the one that it was in") {
    const test::tree files;
    files.put("a", "x");
    site s(files.root(), quiet());
    for (const std::int64_t second : {-2, -1, 0, 1, 2'000}) {
        for (const long ns : {0L, 1L, 500'000'000L, 999'999'999L}) {
            files.set_time("a", second, ns);
            CHECK(modified_s(s, "a") == second);
        }
    }
}

TEST_CASE("what was written in the future was not written after its answer") {
    const test::tree files;
    files.put("a", "x");
    site s(files.root(), quiet());
    for (const std::int64_t second : {4'000'000'000, 10'413'792'000, 100'000'000'000}) {
        files.set_time("a", second); // 2096, 2300, 5138, as far as there is such a time here
        const std::int64_t before = std::time(nullptr);
        const std::int64_t modified = modified_s(s, "a");
        CHECK(modified >= before);
        CHECK(modified <= std::time(nullptr));
    }
    // When a second begins, clocks differ by a tick.
    files.set_time("a", 4'000'000'000);
    using clock = std::chrono::system_clock;
    const auto next = std::chrono::ceil<std::chrono::seconds>(clock::now());
    while (clock::now() < next) {
    }
    const auto modified = s.open("a").file->plain.modified;
    const std::string_view line = date_line();
    const auto date = parse_http_date(line.substr(6, http_date_size));
    REQUIRE(date);
    CHECK(modified <= *date);
}

TEST_CASE("what stands beside a file may be as far in the future") {
    const test::tree files;
    files.put("a", "plain");
    files.put("a.gz", "gzipped");
    site s(files.root(), quiet());
    for (const std::int64_t second :
         {4'000'000'000, 9'223'372'035, 9'223'372'036, 9'223'372'037, 10'413'792'000}) {
        files.set_time("a", second - 1);
        files.set_time("a.gz", second);
        INFO(second);
        CHECK(s.open("a").file->siblings[2].fits);
    }
    files.set_time("a", 2'000'000'000);
    CHECK(s.open("a").file->siblings[2].fits);
}

TEST_CASE("the time of a sibling may be cut") {
    const test::tree files;
    files.put("a", "plain");
    files.put("a.gz", "gzipped");
    site s(files.root(), quiet());
    const auto fits = [&] { return s.open("a").file->siblings[2].fits; };
    files.set_time("a", 2'000, 500'700'000);
    for (const auto& [second, ns, expected] :
         {std::tuple(2'000, 0L, true), std::tuple(1'999, 0L, false),
          std::tuple(1'999, 999'999'999L, false), std::tuple(2'000, 499'000'000L, false),
          std::tuple(2'000, 499'700'000L, false), std::tuple(2'000, 500'000'000L, true),
          std::tuple(2'000, 500'699'000L, true), std::tuple(2'000, 500'700'000L, true),
          std::tuple(2'001, 0L, true)}) {
        files.set_time("a.gz", second, ns);
        CAPTURE(second, ns);
        CHECK(fits() == expected);
    }
    files.set_time("a", -1, 500'000'000);
    files.set_time("a.gz", -1);
    CHECK(fits());
    files.set_time("a.gz", -2);
    CHECK_FALSE(fits());
}

TEST_CASE("a sibling without bytes is none") {
    const test::tree files;
    files.put("a", "plain");
    files.put("a.gz", "");
    site s(files.root(), quiet());
    const site_file_ptr file = s.open("a").file;
    CHECK_FALSE(file->siblings[2].fits);
    CHECK_FALSE(file->has_siblings);
    files.put("a.gz", "gzipped"); // in its place
    CHECK_FALSE(s.confirms("a", *file));
    CHECK(s.open("a").file->siblings[2].fits);
}

TEST_CASE("what is gzip by its name is that, and nothing beside it is looked for") {
    const test::tree files;
    files.put("a.svgz", "gzipped");
    files.put("a.svgz.gz", "gzipped twice");
    site s(files.root(), quiet());
    const site_file_ptr file = s.open("a.svgz").file;
    CHECK(file->type == "image/svg+xml");
    CHECK(file->plain.coded);
    CHECK(file->plain.fields.contains("\r\nContent-Encoding: gzip\r\n"));
    CHECK_FALSE(file->has_siblings);
}

TEST_CASE("what is no regular file is not there") {
    const test::tree files;
    files.make_directory("sub");
    files.make_pipe("pipe");
    files.link("/dev/zero", "zero");
    const int bound = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un where{};
    where.sun_family = AF_UNIX;
    files.at("socket").copy(where.sun_path, sizeof where.sun_path - 1);
    REQUIRE(::bind(bound, reinterpret_cast<sockaddr*>(&where), sizeof where) == 0);
    site s(files.root(), quiet());
    for (const char* path : {"pipe", "zero", "socket", "none", "sub/none", "pipe/x"}) {
        INFO(path);
        CHECK(s.open(path).what == kind::nothing);
        CHECK(s.open(path).error != 0);
        const kind seen = s.peek(path).what;
        CHECK((seen == kind::nothing || seen == kind::unknown));
    }
    CHECK(s.open("sub").what == kind::directory);
    ::close(bound);
}

TEST_CASE("what cannot be opened is only missing where that is known") {
    for (const int error : {ENOENT, ENOTDIR, EISDIR, EINVAL, ELOOP, ENAMETOOLONG, ENXIO, EXDEV})
        CHECK(refusal_of(error).status() == 404);
    for (const int error : {EACCES, EPERM})
        CHECK(refusal_of(error).status() == 403);
    for (const int error : {EMFILE, ENFILE, ENOMEM, ENOBUFS})
        CHECK(refusal_of(error).status() == 503);
    // Of a mount, a disk or a quota; and what no call is known to give.
    for (const int error : {EIO, ESTALE, EOVERFLOW, ENOTCONN, ETIMEDOUT, EHOSTDOWN, EREMOTEIO,
                            ENODEV, EBADMSG, EUCLEAN, EDQUOT, EINTR, EBADF})
        CHECK(refusal_of(error).status() == 500);
}

TEST_CASE("what has been found is confirmed until something takes its place") {
    const test::tree files;
    files.put("a", "one");
    files.put("a.gz", "zipped");
    site s(files.root(), quiet());
    const auto found = [&] { return s.open("a").file; };
    site_file_ptr file = found();
    // Names that are not in memory any more, say, leave it open.
    const bool can_tell = s.confirms("a", *file);
    files.replace("a", "two");
    CHECK_FALSE(s.confirms("a", *file));
    file = found();
    files.put("a.br", "new");
    CHECK_FALSE(s.confirms("a", *file));
    file = found();
    files.remove("a.gz");
    CHECK_FALSE(s.confirms("a", *file));
    file = found();
    CHECK(s.confirms("a", *file) == can_tell);
    files.remove("a");
    CHECK_FALSE(s.confirms("a", *file));
}

TEST_CASE("that no sibling can be there is confirmed, too") {
    const test::tree files;
    const std::string longest(255, 'x'); // with an ending it is no name
    files.put(longest, "plain");
    files.put("a", "plain");
    files.make_directory("a.gz");
    site s(files.root(), quiet());
    files.put("b", "plain");
    const bool can_tell = s.confirms("b", *s.open("b").file);
    for (const std::string& path : {longest, std::string("a")})
        CHECK(s.confirms(path, *s.open(path).file) == can_tell);
    const site_file_ptr file = s.open("a").file;
    files.remove("a.gz");
    files.put("a.gz", "zipped");
    CHECK_FALSE(s.confirms("a", *file));
}

TEST_CASE("a sibling that may not be read is confirmed as none") {
    const test::tree files;
    files.put("a", "plain");
    files.put("a.gz", "zipped");
    files.put("b", "plain");
    site s(files.root(), quiet());
    const bool can_tell = s.confirms("b", *s.open("b").file);
    REQUIRE(::chmod(files.root().c_str(), 0755) == 0);
    REQUIRE(::chmod(files.at("a.gz").c_str(), 0) == 0);
    const uid_t before = ::geteuid();
    if (before == 0) // which may read all
        REQUIRE(::seteuid(65534) == 0);
    const site_file_ptr file = s.open("a").file;
    CHECK_FALSE(file->siblings[2].there);
    CHECK(s.confirms("a", *file) == can_tell);
    CHECK(::seteuid(before) == 0);
    REQUIRE(::chmod(files.at("a.gz").c_str(), 0644) == 0);
    CHECK_FALSE(s.confirms("a", *file));
}

TEST_CASE("a tag differs where the bytes may") {
    const test::tree files;
    files.put("a", "one");
    files.set_time("a", 2000);
    site s(files.root(), quiet());
    const std::string before = s.open("a").file->plain.tag;
    CHECK(s.open("a").file->plain.tag == before);
    files.replace("a", "two");
    files.set_time("a", 2000);
    CHECK(s.open("a").file->plain.tag != before);
}

TEST_CASE("representations of one file have tags of their own") {
    const test::tree files;
    files.put("a.js", "one");
    for (const char* const name : {"a.js.gz", "a.js.br", "a.js.zst"})
        std::filesystem::create_hard_link(files.at("a.js"), files.at(name));
    site s(files.root(), quiet());
    const site_file_ptr file = s.open("a.js").file;
    std::set<std::string> tags{file->plain.tag};
    for (const site_file::sibling& each : file->siblings)
        tags.insert(each.of.tag);
    CHECK(tags.size() == 4);
}

/// Its own thread sees a file system in memory there, whose times are those of ticks, and nobody
/// else does. False if it may not.
bool mount_coarse(const std::string& at) {
    return ::unshare(CLONE_NEWNS) == 0 &&
           ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           ::mount("ramfs", at.c_str(), "ramfs", 0, nullptr) == 0;
}

TEST_CASE("a tag differs where the bytes do, however coarse times are") {
    const test::tree files;
    bool there = false;
    std::set<std::string> tags;
    std::thread([&] {
        there = mount_coarse(files.root());
        if (!there)
            return;
        site s(files.root(), quiet());
        files.put("a", "0");
        for (const char* const bytes : {"1", "2", "3", "4", "5", "6", "7", "8"}) {
            tags.insert(s.open("a").file->plain.tag);
            files.put("a", bytes);
        }
    }).join();
    if (!there)
        SKIP("may not mount");
    CHECK(tags.size() == 8);
}

TEST_CASE("a date to come is that of now") {
    const test::tree files;
    files.put("a", "");
    files.set_time("a", 4'000'000'000);
    site s(files.root(), quiet());
    CHECK(s.open("a").file->plain.modified <= std::chrono::system_clock::now());
}

TEST_CASE("Cache-Control is of the first pattern that fits") {
    const test::tree files;
    files.make_directory("assets/deep");
    files.put("assets/deep/a.css", "");
    files.put("a.css", "");
    files.put("a.txt", "");
    files_options options = quiet();
    options.cache_control = {{"assets/*", "max-age=1"}, {"*.css", "max-age=2"}};
    site s(files.root(), options);
    const auto rule = [&](const std::string& path) {
        const std::string stays = s.open(path).file->plain.stays;
        return stays.substr(stays.find("\r\n") + 2);
    };
    CHECK(rule("assets/deep/a.css") == "Cache-Control: max-age=1\r\n");
    CHECK(rule("a.css") == "Cache-Control: max-age=2\r\n");
    CHECK(rule("a.txt").empty());
    files.put("[id]\\x.js", "");
    options.cache_control = {{"[id]\\?.js", "max-age=3"}};
    site odd(files.root(), options);
    CHECK(odd.open("[id]\\x.js").file->plain.stays.ends_with("max-age=3\r\n"));
    files.put("\xc3\xbc.txt", "");
    files.put("aabaab", "");
    options.cache_control = {
        {"?.txt", "max-age=4"}, {"?*a?b", "max-age=5"}, {"*?*?*", "max-age=6"}};
    site others(files.root(), options);
    CHECK(others.open("\xc3\xbc.txt").file->plain.stays.ends_with("max-age=4\r\n"));
    CHECK(others.open("aabaab").file->plain.stays.ends_with("max-age=5\r\n"));
    CHECK(others.open("a.css").file->plain.stays.ends_with("max-age=6\r\n"));
    options.cache_control = {{"*", "a\r\nb"}};
    CHECK_THROWS_AS(site(files.root(), options), std::invalid_argument);
    options = quiet();
    options.index = "../index.html";
    CHECK_THROWS_AS(site(files.root(), options), std::invalid_argument);
}

} // namespace
} // namespace rota::http
