// Parts of files: which bytes an answer has is what its client has asked for, to the last one.

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rota/http/server.hpp>

#include "file_answer.hpp"
#include "http_peer.hpp"
#include "http_site.hpp"
#include "memory.hpp"
#include "scenario.hpp"

namespace sim {
namespace {

using rota::http::representation;
using rota::http::request;

constexpr std::string_view tag = "\"sim\"";

representation represent(rota::io::shared_file file) {
    representation made{.file = std::move(file),
                        .facts = {},
                        .modified = {},
                        .tag = std::string(tag.substr(1, tag.size() - 2)),
                        .stays = "",
                        .fields = ""};
    made.facts = made.file.facts();
    return made;
}

/// A part: its first byte, and its last.
struct part {
    std::size_t first;
    std::size_t last;

    [[nodiscard]] std::string content_range(std::size_t size) const {
        return fmt::format("bytes {}-{}/{}", first, last, size);
    }
};

/// What is asked for, and what comes of it.
struct question {
    std::string fields; // of the request
    int status = 200;
    std::vector<part> parts{}; // with 206
};

std::string spelled(random& r, part p, std::size_t size) {
    if (p.last == size - 1) {
        switch (r.below(4)) {
        case 0:
            return fmt::format("{}-", p.first);
        case 1:
            return fmt::format("-{}", size - p.first);
        case 2:
            return fmt::format("{}-{}", p.first, size + r.below(9'999));
        default:
            break;
        }
    }
    return fmt::format("{}-{}", p.first, p.last);
}

/// Up to four that have nothing in common, in any order; often to the end.
std::vector<part> draw_parts(random& r, std::size_t size) {
    std::vector<part> parts;
    std::size_t from = 0;
    for (std::size_t left = r.chance(500) ? 1 : r.between(2, 4); left != 0 && from < size; --left) {
        const std::size_t first = r.chance(300) ? from : r.between(from, size - 1);
        const std::size_t last = r.chance(300) ? size - 1 : r.between(first, size - 1);
        parts.push_back({first, last});
        from = last + 1;
    }
    for (std::size_t i = parts.size(); i > 1; --i)
        std::swap(parts[i - 1], parts[r.below(i)]);
    return parts;
}

question draw_question(random& r, std::size_t size) {
    switch (r.below(8)) {
    case 0:
        return {""};
    case 1: // nothing of it is there
        return {fmt::format("Range: bytes={}-{}\r\n", size, size + r.below(100)), 416};
    case 2: // which means nothing
        return {"Range: bytes=5-4\r\n"};
    default: {
        question q{"Range: bytes=", 206, draw_parts(r, size)};
        for (std::size_t i = 0; i < q.parts.size(); ++i)
            q.fields += (i == 0 ? "" : ", ") + spelled(r, q.parts[i], size);
        q.fields += "\r\n";
        if (r.chance(200)) {
            q.fields += fmt::format("If-Range: {}\r\n", tag);
        } else if (r.chance(200)) { // it is another file now
            q.fields += "If-Range: \"other\"\r\n";
            q.status = 200;
        }
        return q;
    }
    }
}

std::string bytes_of(const std::string& whole, part p) {
    return whole.substr(p.first, p.last - p.first + 1);
}

/// The content of an answer of several parts.
std::string several(const std::string& whole, const std::vector<part>& parts,
                    std::string_view boundary) {
    std::string content;
    for (const part& p : parts)
        content +=
            fmt::format("\r\n--{}\r\nContent-Type: text/plain\r\nContent-Range: {}\r\n\r\n{}",
                        boundary, p.content_range(whole.size()), bytes_of(whole, p));
    return content + fmt::format("\r\n--{}--\r\n", boundary);
}

void check_answer(const question& asked, const answer& got, const std::string& whole) {
    here().require(got.status == asked.status, "an answer is of another status");
    const std::string_view range = got.field("Content-Range");
    if (got.status == 200) {
        here().require(got.body == whole && range.empty(), "an answer is not the whole file");
    } else if (got.status == 416) {
        here().require(range == fmt::format("bytes */{}", whole.size()),
                       "a range is announced that is none");
    } else if (asked.parts.size() == 1) {
        const part p = asked.parts.front();
        here().require(range == p.content_range(whole.size()), "another range is announced");
        here().require(got.body == bytes_of(whole, p), "a range is not what was asked for");
    } else {
        constexpr std::string_view type = "multipart/byteranges; boundary=";
        const std::string_view said = got.field("Content-Type");
        here().require(said.starts_with(type) && range.empty(), "several ranges come as one");
        here().require(got.body == several(whole, asked.parts, said.substr(type.size())),
                       "ranges are not what was asked for");
    }
}

/// Asks for some at once, and then for others.
void ask(const scenario* s, const std::string* whole) {
    random& r = here().rng();
    here().sleep(nanoseconds(r.below(50'000'000)));
    peer p(port);
    if (p.refused())
        return here().require(s->ending(), "the server refuses clients");
    constexpr std::size_t rooms[] = {1, 100, 65536, 65536};
    p.set_room(r.one_of(rooms));
    const nanoseconds pause{r.chance(700) ? 0 : 20'000'000};
    answer_reader reader;
    for (std::size_t rounds = r.between(1, 4); rounds != 0; --rounds) {
        std::vector<question> all(r.between(1, 4));
        std::string text;
        for (question& each : all) {
            each = draw_question(r, whole->size());
            text += request_text("GET", "/file", {}, false, each.fields);
        }
        p.send_slowly(text, pause);
        for (const question& each : all) {
            const std::optional<answer> got = next_answer(p, reader, pause);
            here().require(got || s->may_cut(), "an answer is missing");
            if (!got || (got->status >= 500 && memory::was_short()))
                return;
            check_answer(each, *got, *whole);
            if (got->closes)
                return here().require(s->may_cut(), "a connection is closed for no reason");
        }
    }
    here().require(reader.empty(), "there are more bytes than answers");
}

} // namespace

void run_ranges() {
    random& r = here().rng();
    scenario s;
    const std::size_t size = r.chance(300) ? r.between(1, 20) : r.between(1, 9'000);
    const representation file = represent(make_file(size));
    const std::string whole = pattern(size);
    rota::http::router routes;
    routes.get("/file", [&file](const request& asked) {
        return rota::http::file_answer(asked, file, "text/plain", {});
    });
    const rota::http::server_options options = patient_options(r.between(1, 5));
    rota::http::server server(s.context(), std::move(routes), options);
    for (std::size_t count = r.between(1, 5); count != 0; --count)
        s.client([&s, &whole] { ask(&s, &whole); });
    s.serve({.run = [&server] { return server.run(); },
             .drain = [&server] { server.drain(); },
             .connections = [&server] { return server.connections(); },
             .connections_max = options.max_connections});
}

} // namespace sim
