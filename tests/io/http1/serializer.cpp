#include "serializer.hpp"

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <rota/http/chunked.hpp>

namespace rota::http {
namespace {

response dated(response answer) {
    answer.header("Date", "D");
    return answer;
}

std::string head_of(const response& answer, const answer_terms& with) {
    std::string out;
    append_head(out, answer, with, choose_framing(answer, with));
    return out;
}

response streaming(int status = 200) {
    return dated(response::stream([](body_writer&) -> task<void> { co_return; }, "t/p"))
        .status(status);
}

TEST_CASE("response heads") {
    struct expectation {
        response answer;
        answer_terms with;
        std::string_view head;
        bool content;
    };
    std::vector<expectation> table;
    const auto row = [&table](response answer, answer_terms with, std::string_view head,
                              bool content) {
        table.push_back({std::move(answer), with, head, content});
    };
    const answer_terms plain;
    const answer_terms close{.keep_alive = false};
    const answer_terms head{.head_only = true};
    const answer_terms old{.minor = 0, .keep_alive = false};
    const answer_terms old_keep{.minor = 0};
    constexpr std::string_view text =
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n"
        "Date: D\r\nContent-Length: 5\r\n";
    constexpr std::string_view stream = "HTTP/1.1 200 OK\r\nContent-Type: t/p\r\nDate: D\r\n";
    const std::string closing = std::string(text) + "Connection: close\r\n\r\n";
    const std::string keeping = std::string(text) + "Connection: keep-alive\r\n\r\n";
    const std::string going = std::string(text) + "\r\n";
    const std::string chunked = std::string(stream) + "Transfer-Encoding: chunked\r\n\r\n";
    const std::string until = std::string(stream) + "Connection: close\r\n\r\n";

    row(dated(response::text("hello")), plain, going, true);
    row(dated(response::fixed("hello")), plain, going, true);
    row(dated(response::text("hello")), close, closing, true);
    row(dated(response::text("hello")), head, going, false);
    row(dated(response::text("hello")), old, closing, true);
    row(dated(response::text("hello")), old_keep, keeping, true);
    row(dated(response()), plain, "HTTP/1.1 200 OK\r\nDate: D\r\nContent-Length: 0\r\n\r\n", true);
    row(dated(response(204)), plain, "HTTP/1.1 204 No Content\r\nDate: D\r\n\r\n", false);
    row(dated(response(304)), plain, "HTTP/1.1 304 Not Modified\r\nDate: D\r\n\r\n", false);
    row(dated(response::fixed("x", "t/p")).status(205), plain,
        "HTTP/1.1 205 Reset Content\r\nContent-Type: t/p\r\nDate: D\r\nContent-Length: 0\r\n\r\n",
        false);
    row(dated(response(599)), plain, "HTTP/1.1 599 Unknown\r\nDate: D\r\nContent-Length: 0\r\n\r\n",
        true);
    row(streaming(), plain, chunked, true);
    row(streaming(), head, chunked, false);
    row(streaming(), old_keep, until, true);
    row(streaming(204), plain, "HTTP/1.1 204 No Content\r\nContent-Type: t/p\r\nDate: D\r\n\r\n",
        false);
    row(dated(response::stream(
            7, [](body_writer&) -> task<void> { co_return; }, "t/p")),
        old_keep,
        "HTTP/1.1 200 OK\r\nContent-Type: t/p\r\nDate: D\r\nContent-Length: 7\r\n"
        "Connection: keep-alive\r\n\r\n",
        true);

    for (const expectation& expected : table) {
        CHECK(head_of(expected.answer, expected.with) == expected.head);
        const content_framing framing = choose_framing(expected.answer, expected.with);
        CHECK(sends_content(expected.answer, expected.with, framing) == expected.content);
    }
}

TEST_CASE("Connection names an Upgrade") {
    response other = response::fixed("");
    other.header("Upgrade", "x").status(426);
    CHECK(head_of(other, {}).find("\r\nConnection: Upgrade\r\n") != std::string::npos);
    const std::string last = head_of(other, {.keep_alive = false});
    CHECK(last.find("\r\nConnection: close\r\nConnection: Upgrade\r\n") != std::string::npos);
    CHECK(head_of(response::fixed(""), {}).find("Connection:") == std::string::npos);
}

TEST_CASE("a Date is added unless there is one") {
    const std::string head = head_of(response(), {});
    CHECK(head.starts_with("HTTP/1.1 200 OK\r\nDate: "));
    CHECK(head.find(" GMT\r\n") != std::string::npos);
    CHECK(head.find("Date", head.find("Date") + 1) == std::string::npos);
}

TEST_CASE("chunks") {
    std::string out;
    append_chunk_size(out, 1);
    append_chunk_size(out, 0x1af);
    CHECK(out == "1\r\n1af\r\n");
    out.clear();
    headers trailers;
    append_last_chunk(out, trailers);
    CHECK(out == "0\r\n\r\n");
    out.clear();
    trailers.add("X", "y");
    append_last_chunk(out, trailers);
    CHECK(out == "0\r\nX: y\r\n\r\n");
}

} // namespace
} // namespace rota::http
