#include "file_answer.hpp"

#include <chrono>
#include <string>
#include <utility>

#include <catch2/catch_test_macros.hpp>
#include <fcntl.h>

#include "client.hpp"

namespace rota::http {
namespace {

using test::file_client;
using test::file_reply;
using test::tree;

const std::string date = "Thu, 01 Jan 2015 00:00:00 GMT";
constexpr std::int64_t date_s = 1'420'070'400;

struct set_up {
    set_up() {
        files.put("a.txt", "0123456789");
        files.set_time("a.txt", date_s);
        tag = client.get("/a.txt").field("ETag");
    }
    tree files;
    file_client client{files};
    std::string tag;

    int status(const std::string& fields, const std::string& method = "GET") {
        return client.ask(method, "/a.txt", fields).status;
    }
};

TEST_CASE("a file has its type, its length and its validators") {
    set_up s;
    const file_reply r = s.client.get("/a.txt");
    CHECK(r.status == 200);
    CHECK(r.body == "0123456789");
    CHECK(r.field("Content-Type") == "text/plain; charset=utf-8");
    CHECK(r.field("Content-Length") == "10");
    CHECK(r.field("Last-Modified") == date);
    CHECK(r.field("Accept-Ranges") == "bytes");
    CHECK(r.field("X-Content-Type-Options") == "nosniff");
    CHECK(r.field("Vary").empty());
    CHECK(s.tag.starts_with('"'));
    const file_reply h = s.client.ask("HEAD", "/a.txt");
    CHECK(h.fields == r.fields);
    CHECK(h.body.empty());
}

TEST_CASE("preconditions have their answers") {
    set_up s;
    for (const char* method : {"GET", "HEAD"}) {
        CHECK(s.status("If-Match: " + s.tag + "\r\n", method) == 200);
        CHECK(s.status("If-Match: \"x\"\r\n", method) == 412);
        CHECK(s.status("If-Unmodified-Since: " + date + "\r\n", method) == 200);
        CHECK(s.status("If-Unmodified-Since: Wed, 31 Dec 2014 23:59:59 GMT\r\n", method) == 412);
        CHECK(s.status("If-None-Match: W/" + s.tag + "\r\n", method) == 304);
        CHECK(s.status("If-None-Match: *\r\n", method) == 304);
        CHECK(s.status("If-None-Match: \"x\"\r\nIf-Modified-Since: " + date + "\r\n", method) ==
              200);
        CHECK(s.status("If-Modified-Since: " + date + "\r\n", method) == 304);
        CHECK(s.status("If-Match: \"x\"\r\nIf-None-Match: *\r\n", method) == 412);
    }
    const file_reply r = s.client.get("/a.txt", "If-None-Match: " + s.tag + "\r\n");
    CHECK(r.fields == std::map<std::string, std::string>{{"ETag", s.tag}});
    CHECK(r.body.empty());
}

TEST_CASE("ranges have their answers") {
    set_up s;
    const auto get = [&](const std::string& range, const std::string& more = "") {
        return s.client.get("/a.txt", "Range: " + range + "\r\n" + more);
    };
    const file_reply r = get("bytes=2-4");
    CHECK(r.status == 206);
    CHECK(r.body == "234");
    CHECK(r.field("Content-Range") == "bytes 2-4/10");
    CHECK(r.field("Content-Length") == "3");
    CHECK(r.field("ETag") == s.tag);
    CHECK(r.field("Last-Modified") == date);
    CHECK(get("bytes=-3").body == "789");
    CHECK(get("bytes=8-").body == "89");
    CHECK(get("bytes=0-3,2-5").body == "012345");
    CHECK(get("bytes=a").status == 200);
    CHECK(get("bytes=10-").status == 416);
    CHECK(get("bytes=10-").field("Content-Range") == "bytes */10");
    CHECK(get("bytes=2-4", "If-Range: " + s.tag + "\r\n").status == 206);
    CHECK(get("bytes=2-4", "If-Range: \"x\"\r\n").status == 200);
    CHECK(get("bytes=10-", "If-Range: \"x\"\r\n").status == 200);
    CHECK(get("bytes=2-4", "If-Range: " + date + "\r\n").status == 206);
    CHECK(get("bytes=2-4", "If-None-Match: *\r\n").status == 304);
    const file_reply head = s.client.ask("HEAD", "/a.txt", "Range: bytes=2-4\r\n");
    CHECK(head.status == 200);
    CHECK(head.field("Content-Length") == "10");
}

TEST_CASE("what may have changed unseen has no part that goes with another") {
    const tree files;
    files.put("a", "0123456789");
    representation of;
    of.file = io::shared_file(::open(files.at("a").c_str(), O_RDONLY | O_CLOEXEC));
    of.facts = of.file.facts();
    of.modified = std::chrono::sys_seconds(std::chrono::seconds(date_s));
    of.tag = "x";
    router routes;
    routes.get("/a", [&of](const request& r) { return file_answer(r, of, "text/plain"); });
    test::session_driver driver(std::move(routes));
    const auto status = [&](const std::string& fields) {
        const std::string asked = "GET /a HTTP/1.1\r\nHost: a\r\nRange: bytes=1-2\r\n";
        return driver.exchange(asked + fields + "\r\n").substr(9, 3);
    };
    of.shares_date = true;
    CHECK(status("If-Range: \"x\"\r\n") == "206");
    CHECK(status("If-Range: " + date + "\r\n") == "200");
    of.shares_date = false;
    for (const bool settled : {true, false}) {
        of.settled = settled;
        CHECK(status("") == "206");
        CHECK(status("If-Range: \"x\"\r\n") == (settled ? "206" : "200"));
        CHECK(status("If-Range: W/\"x\"\r\n") == "200");
        CHECK(status("If-Range: " + date + "\r\n") == (settled ? "206" : "200"));
        CHECK(status("If-Match: \"x\"\r\n") == (settled ? "206" : "412"));
    }
}

TEST_CASE("a date that another content may have goes with no part") {
    set_up s;
    const auto status = [&](const std::string& path, const std::string& if_range) {
        return s.client.get(path, "Range: bytes=2-4\r\nIf-Range: " + if_range + "\r\n").status;
    };
    s.files.put("b.txt", "0123456789");
    s.files.put("b.txt.gz", "gzipped");
    for (const char* const name : {"b.txt", "b.txt.gz"})
        s.files.set_time(name, date_s);
    const file_reply varied = s.client.get("/b.txt", "Accept-Encoding: gzip\r\n");
    CHECK(varied.field("Content-Encoding") == "gzip");
    CHECK(varied.field("Last-Modified") == date);
    CHECK(status("/b.txt", date) == 200);
    CHECK(status("/b.txt", s.client.get("/b.txt").field("ETag")) == 206);
    CHECK(s.client.get("/b.txt", "If-Modified-Since: " + date + "\r\n").status == 304);
    CHECK(s.client.get("/b.txt", "If-Unmodified-Since: " + date + "\r\n").status == 200);
    s.files.remove("b.txt.gz");
    CHECK(status("/b.txt", date) == 200);
    // Written twice within a second, and the same that is there now since.
    const auto write = [&](const char* bytes, std::int64_t second, long ns) {
        s.files.put("a.txt", bytes);
        s.files.set_time("a.txt", second, ns);
    };
    CHECK(status("/a.txt", date) == 206);
    write("abcdefghij", date_s, 500'000'000);
    CHECK(status("/a.txt", date) == 200);
    CHECK(status("/a.txt", date) == 200);
    s.files.put("a.txt.gz", ""); // is looked for anew
    CHECK(status("/a.txt", date) == 200);
    CHECK(status("/a.txt", s.client.get("/a.txt").field("ETag")) == 206);
    write("0123456789", date_s + 1, 0);
    CHECK(status("/a.txt", "Thu, 01 Jan 2015 00:00:01 GMT") == 206);
}

TEST_CASE("who refuses the bytes as they are gets no part of them") {
    set_up s;
    s.files.put("b.txt", "0123456789");
    s.files.put("b.txt.gz", "gzip");
    const auto status = [&](const std::string& path, const std::string& accepted,
                            const std::string& range) {
        return s.client
            .get(path, "Accept-Encoding: " + accepted + "\r\nRange: bytes=" + range + "\r\n")
            .status;
    };
    for (const char* path : {"/a.txt", "/b.txt"}) {
        for (const char* accepted : {"identity;q=0", "br, *;q=0"}) {
            CHECK(status(path, accepted, "1-2") == 200);
            CHECK(status(path, accepted, "10-") == 200);
        }
        for (const char* accepted : {"", "br", "identity", "*", "*;q=0, identity"}) {
            CHECK(status(path, accepted, "1-2") == 206);
            CHECK(status(path, accepted, "10-") == 416);
        }
    }
    CHECK(status("/a.txt", "gzip, identity;q=0", "1-2") == 200);
    CHECK(status("/b.txt", "gzip, identity;q=0", "1-2") == 206); // of the sibling
    CHECK(status("/b.txt", "gzip, identity;q=0", "4-") == 416);
}

TEST_CASE("a sibling is sent to who takes it, as a representation of its own") {
    set_up s;
    s.files.put("b.txt", "plain bytes");
    s.files.put("b.txt.gz", "gzip");
    s.files.put("b.txt.zst", "zstd!");
    s.files.put("b.txt.br", "older");
    s.files.set_time("b.txt.br", 1);
    const auto get = [&](const std::string& accepted, const std::string& more = "") {
        return s.client.get("/b.txt", "Accept-Encoding: " + accepted + "\r\n" + more);
    };
    const file_reply plain = s.client.get("/b.txt");
    CHECK(plain.body == "plain bytes");
    CHECK(plain.field("Vary") == "Accept-Encoding");
    CHECK(plain.field("Content-Encoding").empty());
    const file_reply gzip = get("gzip");
    CHECK(gzip.body == "gzip");
    CHECK(gzip.field("Content-Encoding") == "gzip");
    CHECK(gzip.field("Content-Type") == "text/plain; charset=utf-8");
    CHECK(gzip.field("Vary") == "Accept-Encoding");
    CHECK(gzip.field("ETag") != plain.field("ETag"));
    CHECK(get("gzip, zstd, br").body == "zstd!");
    CHECK(get("zstd;q=0.5, gzip;q=0.6").body == "gzip");
    CHECK(get("br").body == "plain bytes"); // it is older
    CHECK(get("identity, gzip;q=0.5").body == "plain bytes");
    CHECK(get("gzip;q=0").body == "plain bytes");
    CHECK(get("").body == "plain bytes");
    CHECK(get("*").body == "zstd!");
    CHECK(get("gzip", "Range: bytes=1-2\r\n").body == "zi");
    const file_reply unchanged = get("gzip", "If-None-Match: " + gzip.field("ETag") + "\r\n");
    CHECK(unchanged.status == 304);
    CHECK(unchanged.field("Vary") == "Accept-Encoding");
    CHECK(get("gzip", "If-None-Match: " + plain.field("ETag") + "\r\n").status == 200);
    const file_reply changed = get("gzip", "If-Match: " + plain.field("ETag") + "\r\n");
    CHECK(changed.status == 412);
    CHECK(changed.field("Vary") == "Accept-Encoding");
    const file_reply beyond = get("gzip", "Range: bytes=9-\r\n"); // not beyond the plain file
    CHECK(beyond.status == 416);
    CHECK(beyond.field("Vary") == "Accept-Encoding");
    CHECK(s.client.get("/b.txt.gz").field("Content-Type") == "application/gzip");
    CHECK(s.client.get("/b.txt.gz").field("Content-Encoding").empty());
}

} // namespace
} // namespace rota::http
