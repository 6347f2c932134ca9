#include "http_site.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

#include <rota/http/request_id.hpp>
#include <rota/sleep.hpp>
#include <rota/yield.hpp>

#include "http_peer.hpp"

namespace sim {
namespace {

using rota::task;
using rota::http::request;
using rota::http::response;

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

/// The beginning of it, or, if there is less than is announced, what there is from there on.
response file(const rota::io::shared_file& from, std::size_t size, std::size_t offset) {
    rota::io::file_facts facts = from.facts();
    facts.size = std::max<std::uint64_t>(facts.size, offset + size); // as it once was
    return response::file({.file = from, .facts = facts, .offset = offset, .size = size},
                          "text/plain");
}

} // namespace

rota::io::shared_file make_file(std::size_t bytes) {
    const int fd = ::memfd_create("sim", MFD_CLOEXEC);
    const std::string content = pattern(bytes);
    here().require(std::cmp_equal(::pwrite(fd, content.data(), bytes, 0), bytes),
                   "a file is written");
    return rota::io::shared_file(fd);
}

namespace {

rota::http::router bare_routes(const rota::io::shared_file& from) {
    rota::http::router r;
    r.get("/file/{count}", [from](const request& req) { return file(from, count_of(req), 0); });
    r.get("/short/{count}", [from](const request& req) {
        return file(from, count_of(req) + 1, site_file_bytes - count_of(req));
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

} // namespace

rota::http::router site_routes(const rota::io::shared_file& from) {
    rota::http::router r = bare_routes(from);
    rota::http::router named = bare_routes(from);
    named.use(rota::http::request_id());
    named.use([](request& req, rota::http::next proceed) {
        return then(proceed(req), [id = std::string(req.id())](response& answer) {
            here().require(answer.headers().find("X-Request-Id").value_or(id) == id,
                           "a request is named twice");
        });
    });
    r.mount("/named", std::move(named));
    return r;
}

std::string exchange::text() const {
    const std::string name = id.empty() ? "" : fmt::format("X-Request-Id: {}\r\n", id);
    return request_text(method, target, content, chunked, name);
}

namespace {

exchange draw_bare(random& r) {
    const std::size_t size = r.chance(200) ? r.below(5000) : r.below(100);
    switch (r.below(9)) {
    case 0: {
        const std::string content = pattern(size);
        return {"POST", "/echo", content, r.chance(500), 200, content};
    }
    case 1:
        return {"GET", fmt::format("/sleep/{}", r.below(60)), "", false, 200, "slept"};
    case 5:
        return {"GET", fmt::format("/busy/{}", r.below(200)), "", false, 200, "busy"};
    case 2: {
        std::string all;
        const std::size_t count = r.below(20);
        for (std::size_t i = 0; i < count; ++i)
            all += fmt::format("line {}\n", i);
        return {"GET", fmt::format("/lines/{}", count), "", false, 200, all};
    }
    case 6:
        return {"GET", fmt::format("/file/{}", size), "", false, 200, pattern(size)};
    case 7: // it has become shorter than was announced: never whole
        if (r.chance(800))
            return {"GET", "/plain", "", false, 200, "hello"};
        return {"GET", fmt::format("/short/{}", size), "", false, 0, ""};
    case 3:
        return {"GET", fmt::format("/large/{}", size), "", false, 200, pattern(size)};
    case 4: // an answer before the content has been read, which is dropped
        return {"POST", "/nowhere", pattern(size), r.chance(500), 404, ""};
    default:
        return {"GET", "/plain", "", false, 200, "hello"};
    }
}

} // namespace

exchange draw_exchange(random& r) {
    exchange drawn = draw_bare(r);
    if (r.chance(400)) {
        drawn.target.insert(0, "/named");
        drawn.id = fmt::format("{}-{}", drawn.method, r.below(1'000'000));
    }
    return drawn;
}

} // namespace sim
