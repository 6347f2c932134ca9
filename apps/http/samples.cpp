#include "samples.hpp"

#include <charconv>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rota/http/error.hpp>
#include <rota/http/media_type.hpp>
#include <rota/sleep.hpp>

#include "echo_memory.hpp"
#include "pieces.hpp"

namespace rota_http {
namespace {

using rota::task;
using rota::http::body_reader;
using rota::http::body_writer;
using rota::http::http_error;
using rota::http::request;
using rota::http::response;
using std::chrono::milliseconds;

constexpr std::uint64_t letters_max = std::uint64_t{1} << 20;
constexpr std::size_t echo_memory_bytes = 134'217'728;
constexpr std::uint64_t sleep_max_ms = 60'000;
constexpr std::uint64_t stream_lines_max = 10'000;
constexpr std::uint64_t stream_interval_max_ms = 10'000;

/// A whole number of decimal digits up to `max`.
std::optional<std::uint64_t> parse_number(std::string_view text, std::uint64_t max) {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || stop != end || number > max)
        return std::nullopt;
    return number;
}

/// Says that it is no script, which some names would make of it.
response hello(const request& req) {
    return response::text("Hello, " + std::string(req.param("name")) + "!\n")
        .header("X-Content-Type-Options", "nosniff");
}

/// So much of one letter, sent from where it is.
response letters(const request& req) {
    const std::optional<std::uint64_t> count = parse_number(req.param("count"), letters_max);
    if (!count)
        throw http_error(400, "the path is /bytes/{count} with 0 to 1048576 bytes");
    static const std::string all(letters_max, 'x');
    return response::shared(
        rota::io::shared_bytes::of_static(std::string_view(all).substr(0, *count)),
        "text/plain; charset=utf-8");
}

task<response> sleep_then_answer(request& req) {
    const std::optional<std::uint64_t> ms = parse_number(req.param("ms"), sleep_max_ms);
    if (!ms)
        throw http_error(400, "the path is /sleep/{ms} with 0 to 60000 milliseconds");
    co_await rota::sleep_for(milliseconds(*ms));
    co_return response::text("slept " + std::to_string(*ms) + " ms\n");
}

task<void> write_lines(body_writer* to, std::uint64_t lines, milliseconds interval) {
    for (std::uint64_t i = 1; i <= lines; ++i) {
        if (i > 1 && interval.count() > 0)
            co_await rota::sleep_for(interval);
        std::string line = "line " + std::to_string(i) + " of " + std::to_string(lines) + '\n';
        co_await to->write_owned(std::move(line));
    }
}

response stream_lines(const request& req) {
    const auto lines = parse_number(req.query("lines").value_or("10"), stream_lines_max);
    const auto interval =
        parse_number(req.query("interval_ms").value_or("100"), stream_interval_max_ms);
    if (!lines || !interval)
        throw http_error(400, "lines is 0 to 10000, interval_ms 0 to 10000");
    return response::stream([count = *lines, every = milliseconds(*interval)](
                                body_writer& to) { return write_lines(&to, count, every); },
                            "text/plain; charset=utf-8");
}

// --- /echo ---

/// Content that turns out to be too large cuts the connection: the answer has begun.
task<void> echo_on(body_reader* from, std::vector<std::string> begin, body_writer* to) {
    for (std::string& piece : begin)
        co_await to->write_owned(std::move(piece));
    for (;;) {
        const std::string_view piece = co_await from->read();
        if (piece.empty())
            co_return;
        co_await to->write(piece);
    }
}

/// Content is answered when its end has been seen, so that content which is bad or too large gets
/// an error, and a client may send all of it before it reads. When the memory for that is used up,
/// it is sent back while it comes.
task<response> echo(request* req, std::uint64_t bytes_max, std::shared_ptr<echo_memory> memory) {
    std::string type(req->header("Content-Type").value_or(""));
    if (!rota::http::media_type::parse(type))
        type = "application/octet-stream";
    body_reader& body = req->body();
    body.limit(bytes_max);
    std::optional<std::uint64_t> length = body.length();
    const auto room = std::make_shared<echo_memory::share>(*memory);
    pieces content(echo_memory::step);
    do {
        const std::string_view piece = co_await body.read();
        if (piece.empty()) {
            length = content.size();
            break;
        }
        content.append(piece);
    } while (room->reach(content.size()));
    // What it keeps counts until it has been sent.
    auto producer = [&body, room, memory, begin = std::move(content).take()](
                        body_writer& to) mutable { return echo_on(&body, std::move(begin), &to); };
    response answer = length ? response::stream(*length, std::move(producer), type)
                             : response::stream(std::move(producer), type);
    answer.header("X-Content-Type-Options", "nosniff"); // it is what the client says it is
    co_return std::move(answer);
}

} // namespace

void add_samples(rota::http::router& to, std::uint64_t echo_bytes_max,
                 std::function<void()> return_memory, const codings& coded) {
    const auto memory = std::make_shared<echo_memory>(echo_memory_bytes, std::move(return_memory));
    to.get("/plaintext", [] { return response::fixed("Hello, World!"); })
        .get("/json",
             [] { return response::fixed(R"({"message":"Hello, World!"})", "application/json"); })
        .get("/hello/{name}", hello)
        .get("/bytes/{count}", coded.answers(letters))
        .get("/sleep/{ms}", sleep_then_answer)
        .get("/stream", coded.answers(stream_lines))
        .post("/echo", coded.requests([echo_bytes_max, memory](request& req) {
            return echo(&req, echo_bytes_max, memory);
        }));
}

} // namespace rota_http
