#include <array>
#include <string>
#include <utility>

#include <catch2/catch_test_macros.hpp>

#include <rota/http/request.hpp>
#include <rota/http/response.hpp>
#include <rota/http/router.hpp>

#include "client.hpp"
#include "io/temporary_file.hpp"

namespace rota::http {
namespace {

using namespace test;
using io::test::temporary_file;

std::string lines(std::size_t size) {
    std::string text;
    for (int i = 0; text.size() < size; ++i)
        text += std::to_string(i) + "\n";
    text.resize(size);
    return text;
}

router files_at(const temporary_file* file) {
    router made;
    made.get("/file", [file] { return response::file(file->slice(), "text/plain"); })
        .get("/part", [file] { return response::file(file->slice(1'000, 10), "text/plain"); })
        .get("/none", [file] { return response::file(file->slice(5, 0), "text/plain"); })
        .get("/mixed",
             [file] {
                 return response::stream([file](body_writer& out) -> task<void> {
                     co_await out.write("before ");
                     co_await out.write_file(file->slice(0, 20'000));
                     co_await out.write_file(file->slice(20'000, 3));
                     co_await out.write(" behind");
                     out.add_trailer("X-Sum", "2");
                 });
             })
        .get("/", [] { return response::text("hello"); });
    return made;
}

TEST_CASE("http2: files are answers, in memory or not") {
    const std::string bytes = lines(200'000);
    const temporary_file file(bytes);
    http2_client c(files_at(&file));
    c.open_window(0, 10'000'000);
    std::uint32_t id = 1;
    for (const bool forgotten : {false, true}) {
        if (forgotten)
            file.forget();
        c.ask(id, asking("GET", "/file"));
        CHECK(c.answers[id].get("content-length") == "200000");
        CHECK((c.answers[id].content == bytes.substr(0, 65'535)));
        c.open_window(id, 1);
        CHECK(c.answers[id].content.size() == 65'536);
        c.open_window(id, 1'000'000);
        CHECK((c.answers[id].content == bytes));
        CHECK(c.answers[id].ended);
        id += 2;
    }
    c.ask(id, asking("GET", "/part"));
    CHECK(c.answers[id].content == bytes.substr(1'000, 10));
    CHECK(c.answers[id].ended);
    id += 2;
    c.ask(id, asking("GET", "/none"));
    CHECK(c.answers[id].content.empty());
    CHECK(c.answers[id].ended);
    id += 2;
    c.ask(id, asking("HEAD", "/file"));
    CHECK(c.answers[id].get("content-length") == "200000");
    CHECK(c.answers[id].content.empty());
    CHECK(c.answers[id].ended);
    c.finish();
    CHECK(c.ended_well());
    CHECK(c.errors.empty());
}

TEST_CASE("http2: files keep their place in what is streamed") {
    const std::string bytes = lines(30'000);
    const temporary_file file(bytes);
    http2_client c(files_at(&file));
    c.ask(1, asking("GET", "/mixed"));
    CHECK((c.answers[1].content == "before " + bytes.substr(0, 20'003) + " behind"));
    REQUIRE(c.answers[1].heads.size() == 2);
    CHECK(c.answers[1].heads[1] == std::vector<field>{{"x-sum", "2"}});
    CHECK(c.answers[1].ended);
}

/// The number of DATA frames of a stream, and the bytes of the last.
std::pair<std::size_t, std::size_t> frames_of(const http2_client& c, std::uint32_t stream) {
    std::pair<std::size_t, std::size_t> found;
    for (const frame& one : c.frames) {
        if (one.type == data_frame && one.stream == stream)
            found = {found.first + 1, one.payload.size()};
    }
    return found;
}

TEST_CASE("http2: the last of what was announced says that it is the last") {
    const std::string bytes = lines(20'000);
    const temporary_file file(bytes);
    router made = files_at(&file);
    made.get("/announced", [] {
        return response::stream(6, [](body_writer& out) -> task<void> {
            co_await out.write("one");
            out.add_trailer("X-Sum", "2");
            co_await out.flush();
            co_await out.write("two");
            co_await out.flush();
        });
    });
    http2_client c(std::move(made));
    c.ask(1, asking("GET", "/file"));
    CHECK((c.answers[1].content == bytes));
    CHECK(c.answers[1].ended);
    CHECK(frames_of(c, 1) == std::pair<std::size_t, std::size_t>(2, 20'000 - 16'384));
    c.ask(3, asking("GET", "/announced"));
    CHECK(c.answers[3].content == "onetwo");
    CHECK(c.answers[3].ended);
    CHECK(c.answers[3].heads.size() == 1);
    CHECK(frames_of(c, 3) == std::pair<std::size_t, std::size_t>(2, 3));
    file.forget();
    c.ask(5, asking("GET", "/file"));
    CHECK((c.answers[5].content == bytes));
    CHECK(frames_of(c, 5).second == 20'000 - 16'384);
    CHECK(c.errors.empty());
}

TEST_CASE("http2: several files leave at once, frame by frame") {
    const std::string bytes = lines(300'000);
    const temporary_file file(bytes);
    http2_client c(files_at(&file));
    const std::array<std::uint32_t, 3> all{1, 3, 5};
    for (const std::uint32_t id : all)
        c.ask(id, asking("GET", "/file"));
    for (const std::uint32_t id : all)
        c.open_window(id, 1'000'000);
    for (int i = 0; i < 100; ++i)
        c.open_window(0, 10'000);
    for (const std::uint32_t id : all) {
        CHECK((c.answers[id].content == bytes));
        CHECK(c.answers[id].ended);
    }
    CHECK(c.goaway() == -1);
}

/// What has been sent of it is right, and it is not taken for whole.
TEST_CASE("http2: a file that changes ends its stream") {
    const std::string bytes = lines(200'000);
    for (const int change : {0, 1, 2}) {
        const temporary_file file(bytes);
        http2_client c(files_at(&file));
        c.ask(1, asking("GET", "/file"));
        CHECK(c.answers[1].content.size() == 65'535);
        if (change == 0)
            file.cut(100'000);
        else if (change == 1)
            file.cut(10);
        else
            file.write("more", 200'000);
        c.open_window(0, 1'000'000);
        c.open_window(1, 1'000'000);
        CHECK_FALSE(c.answers[1].ended);
        CHECK(c.answers[1].reset == 2);
        CHECK((c.answers[1].content == bytes.substr(0, c.answers[1].content.size())));
        c.ask(3, asking("GET", "/"));
        CHECK(c.answers[3].content == "hello");
    }
}

TEST_CASE("http2: a client gives a file up in the middle") {
    const temporary_file file(lines(200'000));
    http2_client c(files_at(&file));
    c.ask(1, asking("GET", "/file"));
    c.reset(1);
    c.open_window(0, 1'000'000);
    c.ask(3, asking("GET", "/part"));
    CHECK(c.answers[3].ended);
    c.ask(5, asking("GET", "/file"));
    c.finish();
    CHECK(c.ended_well());
    CHECK(c.metrics().requests_in_flight == 0);
    CHECK(c.errors.empty());
}

} // namespace
} // namespace rota::http
