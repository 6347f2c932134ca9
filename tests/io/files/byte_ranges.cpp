#include "byte_ranges.hpp"

#include <string>

#include <catch2/catch_test_macros.hpp>

#include "client.hpp"

namespace rota::http {
namespace {

TEST_CASE("several ranges are parts of one answer, each of which says what it is of") {
    const test::tree files;
    files.put("a.txt", "0123456789");
    test::file_client client(files);
    const auto r = client.get("/a.txt", "Range: bytes=7-8, 0-2,-1\r\n");
    CHECK(r.status == 206);
    CHECK(r.field("Content-Range").empty());
    const std::string type = r.field("Content-Type");
    const std::string start = "multipart/byteranges; boundary=";
    REQUIRE(type.starts_with(start));
    const std::string boundary = type.substr(start.size());
    CHECK(boundary.size() == 32);
    const auto part = [&](const std::string& range, const std::string& bytes) {
        return "\r\n--" + boundary + "\r\nContent-Type: text/plain; charset=utf-8\r\n" +
               "Content-Range: bytes " + range + "/10\r\n\r\n" + bytes;
    };
    CHECK(r.body == part("7-8", "78") + part("0-2", "012") + part("9-9", "9") + "\r\n--" +
                        boundary + "--\r\n");
    CHECK(r.field("Content-Length") == std::to_string(r.body.size()));
    CHECK_FALSE(r.field("ETag").empty());
    CHECK(client.get("/a.txt", "Range: bytes=0-0,2-2\r\n").field("Content-Type") != type);
}

TEST_CASE("sixteen parts are, more are the whole") {
    const test::tree files;
    files.put("a", std::string(100, 'x'));
    test::file_client client(files);
    std::string sixteen = "Range: bytes=0-0";
    for (int i = 1; i < 16; ++i)
        sixteen += ',' + std::to_string(3 * i) + '-' + std::to_string(3 * i);
    CHECK(client.get("/a", sixteen + "\r\n").status == 206);
    CHECK(client.get("/a", sixteen + ",90-90\r\n").status == 200);
}

} // namespace
} // namespace rota::http
