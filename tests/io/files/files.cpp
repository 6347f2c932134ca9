#include <rota/http/files.hpp>

#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

#include <catch2/catch_test_macros.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client.hpp"
#include "limited_files.hpp"

namespace rota::http {
namespace {

using namespace std::chrono_literals;
using test::file_client;
using test::file_reply;
using test::tree;

TEST_CASE("a directory is redirected to its slash, and shows its index") {
    const tree files;
    files.make_directory("sub");
    files.make_directory("with space");
    files.put("index.html", "root");
    files.put("sub/index.html", "sub");
    file_client client(files);
    CHECK(client.get("/").body == "root");
    CHECK(client.get("/").field("Content-Type") == "text/html; charset=utf-8");
    CHECK(client.get("/index.html").body == "root");
    CHECK(client.get("/sub/").body == "sub");
    for (const auto& [asked, to] : {std::pair{"", "/f/"},
                                    {"?q=1", "/f/?q=1"},
                                    {"/sub", "/f/sub/"},
                                    {"/sub?a=b%20c", "/f/sub/?a=b%20c"},
                                    {"/with%20space", "/f/with%20space/"}}) {
        const file_reply r = client.get(asked);
        CHECK(r.status == 301);
        CHECK(r.field("Location") == to);
    }
    // What no URI has is escaped (RFC 3986); what is escaped stays.
    files.make_directory("a\"{|}");
    for (const auto& [asked, to] :
         {std::pair{"/a\"{|}?q=<\"\\^`{|}>[]",
                    "/f/a%22%7B%7C%7D/?q=%3C%22%5C%5E%60%7B%7C%7D%3E%5B%5D"},
          {"/%73ub?a=%zz&b=%4&c=%c3%00&d=%", "/f/%73ub/?a=%25zz&b=%254&c=%c3%00&d=%25"},
          {"/sub?-._~!$&'()*+,;=:@/?", "/f/sub/?-._~!$&'()*+,;=:@/?"},
          {"?[", "/f/?%5B"}}) {
        const file_reply r = client.get(asked);
        INFO(asked);
        CHECK(r.status == 301);
        CHECK(r.field("Location") == to);
    }
    CHECK(client.get("/with%20space/").status == 404);
    CHECK(client.get("/index.html/").status == 404);
    CHECK(client.get("/sub/index.html/x").status == 404);
}

TEST_CASE("a directory shows what is in it, if it may") {
    const tree files;
    files.make_directory("sub");
    files.put("sub/<x>", "");
    files.put("sub/.hidden", "");
    files.put("index.html", "root");
    file_client client(files, {.listing = true});
    CHECK(client.get("/").body == "root");
    const file_reply r = client.get("/sub/");
    CHECK(r.status == 200);
    CHECK(r.field("Content-Type") == "text/html; charset=utf-8");
    CHECK(r.body.find("href=\"./%3Cx%3E\"") != std::string::npos);
    CHECK(r.body.find("hidden") == std::string::npos);
    CHECK(client.get("/none/").status == 404);
    CHECK(client.get("/sub/.hidden/").status == 404);
    files.make_directory("odd/index.html");
    files.put("odd/shown", "");
    files.make_directory("out");
    files.put_outside("index.html", "elsewhere");
    files.link("../../index.html", "out/index.html");
    CHECK(client.get("/odd/").body.find("shown") != std::string::npos); // has no index
    CHECK(client.get("/out/").status == 200);
    CHECK(file_client(files).get("/odd/").status == 404);
    file_client no_index(files, {.index = "", .listing = true});
    CHECK(no_index.get("/").body.find("index.html") != std::string::npos);
    CHECK(file_client(files, {.index = ""}).get("/").status == 404);
}

TEST_CASE("a listing has no validators, and is there") {
    const tree files;
    files.make_directory("sub");
    file_client client(files, {.listing = true});
    const auto status = [&](const std::string& fields, const char* path = "/sub/") {
        return client.get(path, fields + "\r\n").status;
    };
    CHECK(status("If-Match: \"x\"") == 412);
    CHECK(status("If-None-Match: *") == 304);
    CHECK(client.ask("HEAD", "/sub/", "If-None-Match: *\r\n").status == 304);
    CHECK(client.get("/sub/", "If-None-Match: *\r\n").body.empty());
    CHECK(status("If-Match: *") == 200);
    CHECK(status("If-None-Match: \"x\"") == 200);
    CHECK(status("If-Modified-Since: Wed, 31 Dec 2014 23:59:59 GMT") == 200);
    CHECK(status("If-Match: \"x\"", "/none/") == 404);
    file_client kept(
        files, {.listing = true, .cache_control = {{"sub/*", "max-age=9"}, {"*", "no-cache"}}});
    CHECK(kept.get("/sub/").field("Cache-Control") == "max-age=9");
    CHECK(kept.get("/").field("Cache-Control") == "no-cache");
}

TEST_CASE("what leaves the directory does not exist, however it is spelled") {
    const tree files;
    files.put("a", "inside");
    files.make_directory("sub");
    files.put("sub/b", "inside");
    files.put(".dot", "hidden");
    files.put("back\\slash", "hidden");
    files.put_outside("secret", "outside");
    files.link("../secret", "out");
    files.link(files.outside(), "all");
    files.link("sub/b", "in");
    files.link(files.at("sub/b"), "in-by-whole-path");
    files.make_pipe("pipe");
    files.link("/dev/zero", "zero");
    file_client client(files);
    for (const char* path : {"/../secret",
                             "/..%2fsecret",
                             "/%2e%2e/secret",
                             "/%2e%2e%2fsecret",
                             "/.%2e/secret",
                             "/sub/../../secret",
                             "/sub/../a",
                             "/./a",
                             "/sub/./b",
                             "/%252e%252e/secret",
                             "/..%5csecret",
                             "/..%5C..%5Csecret",
                             "/back%5Cslash",
                             "//a",
                             "//secret",
                             "///etc/passwd",
                             "//etc/passwd",
                             "/%2fetc/passwd",
                             "/sub//b",
                             "/sub%2fb",
                             "/....//secret",
                             "/out",
                             "/all/secret",
                             "/all/",
                             "/.dot",
                             "/sub/.dot",
                             "/pipe",
                             "/zero",
                             "/a%0a",
                             "/none",
                             "/%c0%ae%c0%ae/secret",
                             "/..;/secret",
                             "/a/",
                             "/a/b",
                             "/file:///etc/passwd"}) {
        INFO(path);
        const file_reply r = client.get(path);
        CHECK(r.status == 404);
        CHECK(r.body.find("side") == std::string::npos);
    }
    for (const char* path : {"/a%00", "/a%00.png", "/%00", "/sub%00/b"})
        CHECK(file_client(files).get(path).status == 404);
    for (const char* path : {"/a", "/sub/b", "/in", "/in-by-whole-path", "/%61", "/sub/%62"})
        CHECK(client.get(path).body == "inside");
    CHECK(file_client(files, {.dotfiles = true}).get("/.dot").body == "hidden");
}

TEST_CASE("other methods are told which there are") {
    const tree files;
    files.put("a", "inside");
    file_client client(files);
    for (const char* method : {"POST", "PUT", "DELETE", "PATCH"}) {
        const file_reply r = client.ask(method, "/a", "Content-Length: 0\r\n");
        CHECK(r.status == 405);
        CHECK(r.field("Allow") == "GET, HEAD, OPTIONS");
    }
    CHECK(client.ask("OPTIONS", "/a").field("Allow") == "GET, HEAD, OPTIONS");
}

TEST_CASE("what has changed is seen: a file in its place at once, another after a while") {
    const tree files;
    files.put("a", "one");
    file_client client(files);
    CHECK(client.get("/a").body == "one");
    files.put("a", "in place");
    CHECK(client.get("/a").body == "in place");
    const std::string tag = client.get("/a").field("ETag");
    files.replace("a", "another");
    client.driver().advance(1001ms);
    CHECK(client.get("/a").body == "another");
    CHECK(client.get("/a").field("ETag") != tag);
    files.put("a.gz", "zipped");
    client.driver().advance(1001ms);
    CHECK(client.get("/a", "Accept-Encoding: gzip\r\n").body == "zipped");
    files.put("a.gz", "in place");
    CHECK(client.get("/a", "Accept-Encoding: gzip\r\n").body == "in place");
    files.remove("a");
    client.driver().advance(1001ms);
    CHECK(client.get("/a").status == 404);
    files.put("a", "back");
    CHECK(client.get("/a").body == "back");
}

TEST_CASE("what is always being written to has a weak tag, and is looked at anew") {
    const tree files;
    files.put("a", "0123456789");
    files.set_time("a", 1'420'070'400);
    file_client client(files);
    const std::size_t before = test::open_files();
    std::string weak;
    {
        const int fd = ::open(files.at("a").c_str(), O_WRONLY | O_CLOEXEC);
        const std::jthread writer([&](const std::stop_token& stop) {
            const timespec both[2] = {{1'420'070'400, 0}, {1'420'070'400, 0}};
            while (!stop.stop_requested()) {
                static_cast<void>(::pwrite(fd, "0", 1, 0));
                ::futimens(fd, both);
            }
            ::close(fd);
        });
        const auto seen = [&] {
            std::string tag;
            for (int tries = 0; tries < 200 && !tag.starts_with("W/\""); ++tries) // it may rest
                tag = client.ask("HEAD", "/a").field("ETag");
            return tag;
        };
        weak = seen();
        REQUIRE(weak.starts_with("W/\""));
        CHECK(seen() != weak);
        CHECK(test::open_files() == before + 2); // the writer's, and for its date
    }
    const file_reply r = client.get("/a", "If-None-Match: " + weak + "\r\n");
    CHECK(r.status == 200);
    CHECK(r.field("ETag").starts_with('"'));
    CHECK(test::open_files() == before + 1);
}

TEST_CASE("a date that was said of what was being written to goes with no part") {
    const tree files;
    files.put("a", "0123456789");
    files.set_time("a", 1'420'070'400);
    file_client client(files);
    file_reply first;
    {
        const int fd = ::open(files.at("a").c_str(), O_WRONLY | O_CLOEXEC);
        const std::jthread writer([&](const std::stop_token& stop) {
            const timespec both[2] = {{1'420'070'400, 0}, {1'420'070'400, 0}};
            while (!stop.stop_requested())
                ::futimens(fd, both);
            ::close(fd);
        });
        for (int tries = 0; tries < 200 && !first.field("ETag").starts_with("W/"); ++tries)
            first = client.ask("HEAD", "/a"); // what it sends would be cut
    }
    REQUIRE(first.field("ETag").starts_with("W/"));
    files.put("a", "abcdefghij");
    files.set_time("a", 1'420'070'400);
    for (int i = 0; i < 2; ++i) {
        const file_reply part = client.get(
            "/a", "Range: bytes=2-4\r\nIf-Range: " + first.field("Last-Modified") + "\r\n");
        CHECK(part.status == 200);
        CHECK(part.field("Last-Modified") == first.field("Last-Modified"));
    }
}

TEST_CASE("few files are kept open, and none when its session has ended") {
    const tree files;
    for (int i = 0; i < 20; ++i)
        files.put(std::to_string(i), std::string(100, 'x'));
    const std::size_t before = test::open_files();
    {
        file_client client(files, {.open_max = 3});
        for (int i = 0; i < 20; ++i)
            CHECK(client.get('/' + std::to_string(i)).status == 200);
        CHECK(test::open_files() <= before + 4); // with the directory
    }
    CHECK(test::open_files() == before);
}

TEST_CASE("what nobody asks for any more is closed in a minute, though nobody asks for anything") {
    const tree files;
    for (int i = 0; i < 200; ++i)
        files.put(std::to_string(i), "one");
    file_client client(files);
    const std::size_t before = test::open_files();
    for (int i = 0; i < 200; ++i)
        CHECK(client.get('/' + std::to_string(i)).status == 200);
    client.driver().advance(30s);
    CHECK(client.get("/7").status == 200);
    CHECK(test::open_files() == before + 200);
    client.driver().advance(31s);
    CHECK(test::open_files() == before + 1);
    client.driver().advance(35s);
    CHECK(test::open_files() == before);
    CHECK(client.driver().scheduler().advance(1h) == run_status::no_routines);
}

TEST_CASE("without a descriptor it is a 503, and those that are kept give way first") {
    const tree files;
    files.put("a", "one");
    files.put("b", "two");
    file_client client(files);
    CHECK(client.get("/a").body == "one");
    {
        const test::limited_files none(2); // for a look, and for b
        CHECK(client.get("/b").body == "two");
    }
    {
        const test::limited_files none(1);
        CHECK(client.get("/a").status == 503);
    }
    CHECK(client.get("/a").body == "one");
    CHECK(client.driver().errors().empty());
}

TEST_CASE("those that are kept give way to what was never looked for") {
    const tree files;
    for (const char* const name : {"a", "b", "c"})
        files.put(name, name);
    files.link("c", "link");
    file_client client(files, {.listing = true});
    const auto fill = [&] {
        CHECK(client.get("/a").status == 200);
        CHECK(client.get("/b").status == 200);
    };
    fill();
    {
        const test::used_up_files none(0);
        CHECK(client.get("/c").body == "c");
    }
    fill();
    {
        const test::used_up_files none(0);
        CHECK(client.get("/").status == 200);
    }
    fill();
    {
        const test::used_up_files none(1); // for the directory, not for what a link leads to
        CHECK(client.get("/").body.contains("./link"));
    }
    CHECK(client.driver().errors().empty());
}

TEST_CASE("what cannot be served is said at once") {
    const tree files;
    CHECK_THROWS_AS(http::files(files.at("none")), std::system_error);
    CHECK_THROWS_AS(http::files(files.root(), {.index = "a/b"}), std::invalid_argument);
}

} // namespace
} // namespace rota::http
