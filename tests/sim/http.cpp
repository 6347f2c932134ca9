// The HTTP server under clients that pipeline, chunk, wait, half-close and break off.

#include <algorithm>
#include <charconv>

#include <sys/mman.h>
#include <unistd.h>

#include <rota/http/server.hpp>
#include <rota/io/shared_file.hpp>
#include <rota/sleep.hpp>
#include <rota/yield.hpp>

#include "http_peer.hpp"
#include "scenario.hpp"

namespace sim {
namespace {

using rota::task;
using rota::http::request;
using rota::http::response;

/// What differs from run to run.
struct rules {
    const scenario* s;
    bool hurry; ///< the server's time limits are as short as the network's delays
};

std::size_t count_of(const request& req) {
    const std::string_view text = req.param("count");
    std::size_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

task<response> echo(request& req) {
    std::string content = co_await req.text(100'000);
    co_return response::text(std::move(content));
}

task<response> sleep(request& req) {
    const auto length = std::chrono::milliseconds(count_of(req));
    co_await rota::sleep_for(length);
    co_return response::text("slept");
}

/// Takes more steps than a worker takes in a turn, perhaps.
task<response> busy(request& req) {
    for (std::size_t left = count_of(req); left != 0; --left)
        co_await rota::yield();
    co_return response::text("busy");
}

task<void> write_lines(std::size_t count, rota::http::body_writer* to) {
    for (std::size_t i = 0; i < count; ++i) {
        const std::string line = fmt::format("line {}\n", i);
        co_await to->write(line);
    }
}

response lines(const request& req) {
    const std::size_t count = count_of(req);
    return response::stream(
        [count](rota::http::body_writer& to) { return write_lines(count, &to); }, "text/plain");
}

constexpr std::size_t file_bytes = 9000;

/// A file in memory that holds a pattern.
rota::io::shared_file make_file() {
    const int fd = ::memfd_create("sim", MFD_CLOEXEC);
    const std::string bytes = pattern(file_bytes);
    here().require(::pwrite(fd, bytes.data(), bytes.size(), 0) == ssize_t{file_bytes},
                   "a file is written");
    return rota::io::shared_file(fd);
}

/// The beginning of it, or, if there is less than is announced, what there is from there on.
response file(const rota::io::shared_file& from, std::size_t size, std::size_t offset) {
    return response::file({.file = from, .facts = from.facts(), .offset = offset, .size = size},
                          "text/plain");
}

rota::http::router routes(const rota::io::shared_file& from) {
    rota::http::router r;
    r.get("/file/{count}", [from](const request& req) { return file(from, count_of(req), 0); });
    r.get("/short/{count}", [from](const request& req) {
        return file(from, count_of(req) + 1, file_bytes - count_of(req));
    });
    r.get("/plain", [](const request&) { return response::fixed("hello"); });
    r.post("/echo", [](request& req) { return echo(req); });
    r.get("/sleep/{count}", [](request& req) { return sleep(req); });
    r.get("/busy/{count}", [](request& req) { return busy(req); });
    r.get("/lines/{count}", [](const request& req) { return lines(req); });
    r.get("/large/{count}",
          [](const request& req) { return response::text(pattern(count_of(req))); });
    return r;
}

struct exchange {
    std::string request;
    int status;
    std::string body;
};

exchange draw_exchange(random& r) {
    const std::size_t size = r.chance(200) ? r.below(5000) : r.below(100);
    switch (r.below(9)) {
    case 0: {
        const std::string content = pattern(size);
        return {request_text("POST", "/echo", content, r.chance(500)), 200, content};
    }
    case 1:
        return {request_text("GET", fmt::format("/sleep/{}", r.below(60))), 200, "slept"};
    case 5:
        return {request_text("GET", fmt::format("/busy/{}", r.below(200))), 200, "busy"};
    case 2: {
        std::string all;
        const std::size_t count = r.below(20);
        for (std::size_t i = 0; i < count; ++i)
            all += fmt::format("line {}\n", i);
        return {request_text("GET", fmt::format("/lines/{}", count)), 200, all};
    }
    case 6:
        return {request_text("GET", fmt::format("/file/{}", size)), 200, pattern(size)};
    case 7: // it has become shorter than was announced: never whole
        if (r.chance(800))
            return {request_text("GET", "/plain"), 200, "hello"};
        return {request_text("GET", fmt::format("/short/{}", size)), 0, ""};
    case 3:
        return {request_text("GET", fmt::format("/large/{}", size)), 200, pattern(size)};
    case 4: // an answer before the content has been read, which is dropped
        return {request_text("POST", "/nowhere", pattern(size), r.chance(500)), 404, ""};
    default:
        return {request_text("GET", "/plain"), 200, "hello"};
    }
}

/// Reads the answers to `all`: each exact, in order. Fewer only where there is an excuse, and then
/// false.
bool check_answers(const rules& with, peer& p, const std::vector<exchange>& all,
                   nanoseconds pause) {
    answer_reader reader;
    // The reset of an answer that cannot be whole overtakes what was not read before it.
    const bool overtaken = std::ranges::find(all, 0, &exchange::status) != all.end();
    for (const exchange& e : all) {
        const std::optional<answer> a = next_answer(p, reader, pause);
        const bool excused = with.hurry || with.s->may_cut();
        if (!a) {
            here().require(excused || overtaken, "an answer is missing");
            return false;
        }
        if (with.hurry && (a->status == 408 || a->status == 400))
            return false;
        if (memory::was_short() && (a->status == 500 || a->status == 503))
            return false;
        here().require(e.status != 0, "a file is whole that is not");
        here().require(a->status == e.status, "an answer is of another status");
        here().require(a->status != 200 || a->body == e.body, "an answer is not exact");
        if (a->closes) { // also behind content in chunks that nobody wanted
            here().require(excused || e.status == 404, "a connection is closed for no reason");
            return false;
        }
    }
    here().require(reader.empty(), "there are more bytes than answers");
    return true;
}

void http_client(const rules& with) {
    random& r = here().rng();
    here().sleep(nanoseconds(r.below(50'000'000)));
    peer p(port);
    if (p.refused())
        return here().require(with.s->ending(), "the server refuses clients");
    constexpr std::size_t rooms[] = {1, 100, 65536, 65536};
    constexpr nanoseconds pauses[] = {nanoseconds(0), nanoseconds(0), nanoseconds(20'000'000)};
    p.set_room(r.one_of(rooms));
    const nanoseconds pause = r.one_of(pauses);
    std::vector<exchange> all;
    std::string text;
    for (std::size_t count = r.between(1, 6); count != 0; --count) {
        all.push_back(draw_exchange(r));
        text += all.back().request;
    }
    const std::size_t way = r.below(8);
    if (way == 0) { // breaks off
        p.send_slowly(std::string_view(text).substr(0, r.below(text.size())), pause);
        here().sleep(nanoseconds(r.below(30'000'000)));
        if (r.chance(500))
            p.reset();
        return;
    }
    if (way < 4) { // one after the other
        for (const exchange& e : all) {
            p.send_slowly(e.request, pause);
            if (!check_answers(with, p, {e}, pause))
                return;
        }
        return;
    }
    p.send_slowly(text, pause);
    if (way < 6)
        p.half_close();
    const bool whole = check_answers(with, p, all, pause);
    if (way < 6 && whole) {
        std::string rest;
        const bool ended = p.read_all(rest, pause) == peer::event::end;
        here().require(with.hurry || with.s->may_cut() || (ended && rest.empty()),
                       "a half-close is not answered");
    }
}

rota::http::server_options draw_options(random& r, bool hurry) {
    using std::chrono::milliseconds;
    const auto limit = [&] {
        return hurry ? milliseconds(r.between(1, 100)) : std::chrono::hours(9);
    };
    rota::http::server_options o;
    o.listen = {rota::io::endpoint::parse(address)};
    o.max_connections = r.between(1, 5);
    o.drain_timeout = std::chrono::seconds(10);
    o.limits.header_timeout = limit();
    o.limits.idle_timeout = limit();
    o.limits.body_timeout = limit();
    o.limits.send_timeout = limit();
    o.limits.body_rate_min_bytes_per_s = hurry ? 240 : 0;
    o.limits.linger_timeout = limit();
    o.limits.output_batch_bytes = r.between(1, 3000);
    o.hooks.on_error = scenario::note_error;
    return o;
}

} // namespace

void run_http() {
    random& r = here().rng();
    scenario s;
    const rules with{.s = &s, .hurry = r.chance(300)};
    const rota::http::server_options options = draw_options(r, with.hurry);
    const rota::io::shared_file from = make_file();
    rota::http::server server(s.context(), routes(from), options);
    for (std::size_t count = r.between(1, 6); count != 0; --count) {
        s.client([&with, times = r.chance(300) ? r.between(2, 5) : 1] {
            for (std::size_t left = times; left != 0; --left)
                http_client(with);
        });
    }
    s.serve({.run = [&server] { return server.run(); },
             .drain = [&server] { server.drain(); },
             .connections = [&server] { return server.connections(); },
             .connections_max = options.max_connections});
}

} // namespace sim
