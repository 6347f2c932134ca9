// How many streams there are at once, what does not fit into one frame, or into memory, and what
// is not copied.

#include "engine.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include <catch2/catch_test_macros.hpp>

#include <rota/sleep.hpp>

#include "client.hpp"
#include "limited_memory.hpp"

namespace rota::http {
namespace {

using namespace std::chrono_literals;
using namespace test;

router slow_and_quick() {
    router made;
    made.get("/slow",
             [](request&) -> task<response> {
                 co_await sleep_for(1s);
                 co_return response::text("slow");
             })
        .get("/quick", [] { return response::text("quick"); })
        .post("/all", [](const request&, std::string all) { return response::text(all); });
    return made;
}

server_limits few(std::uint32_t streams) {
    server_limits limits;
    limits.http2.streams_max = streams;
    return limits;
}

TEST_CASE("http2: a stream too many is refused, and those at work go on") {
    http2_client c(slow_and_quick(), few(4));
    CHECK(c.settings[3] == 4);
    for (std::uint32_t id = 1; id < 9; id += 2)
        c.ask(id, asking("GET", "/slow"));
    c.ask(9, asking("GET", "/quick"));
    CHECK(c.answers[9].reset == 7);
    c.ask(11, asking("POST", "/all"), false);
    CHECK(c.answers[11].reset == 7);
    c.content(11, "under way"); // before its client knew
    c.content(11, "", true);
    c.advance(1s);
    for (std::uint32_t id = 1; id < 9; id += 2)
        CHECK(c.answers[id].content == "slow");
    for (std::uint32_t id = 13; id < 100; id += 2) {
        c.ask(id, asking("GET", "/quick"));
        CHECK(c.answers[id].content == "quick");
    }
    CHECK(c.goaway() == -1);
    CHECK(c.metrics().requests == 4 + 44);
}

TEST_CASE("http2: streams too many are refused before the settings were acknowledged, too") {
    http2_client c(slow_and_quick(), few(2), false);
    std::string all = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + make_frame(settings_frame, 0, 0);
    for (std::uint32_t id = 1; id < 9; id += 2)
        all +=
            make_frame(headers_frame, end_headers | end_stream, id, encode(asking("GET", "/slow")));
    c.send(all);
    CHECK(c.answers[5].reset == 7);
    CHECK(c.answers[7].reset == 7);
    c.advance(1s);
    CHECK(c.answers[3].content == "slow");
    CHECK(c.goaway() == -1);
}

TEST_CASE("http2: streams that are given up make room for others") {
    http2_client c(slow_and_quick(), few(2));
    std::uint32_t id = 1;
    for (; id < 200; id += 2) {
        c.ask(id, asking("GET", "/slow"));
        c.reset(id);
    }
    for (; id < 400; id += 2) // of one that is malformed the end is the server's
        c.ask(id, asking("GET", "/quick", {{"Upper", "x"}}));
    c.ask(id, asking("GET", "/quick"));
    CHECK(c.answers[id].content == "quick");
    CHECK(c.goaway() == -1);
}

/// Streams of so many ids at once, behind `first`, from a client that takes nothing until all of
/// them have been read.
void ask_unseen(http2_client& c, std::uint32_t ids, std::string first = {}) {
    c.stream().set_room(0);
    for (std::uint32_t id = 1; id < ids; id += 2)
        first +=
            make_frame(headers_frame, end_headers | end_stream, id, encode(asking("GET", "/slow")));
    c.stream().send(first);
    c.go_on();
    c.stream().set_room(1'000'000);
    c.go_on();
    c.receive();
}

TEST_CASE("http2: streams too many without end are too many") {
    http2_client c(slow_and_quick(), few(2));
    for (std::uint32_t id = 1; id < 3'000 && c.goaway() == -1; id += 2)
        c.ask(id, asking("GET", "/slow"));
    CHECK(c.goaway() == 11);
    http2_client mute(slow_and_quick(), few(2));
    ask_unseen(mute, 3'000);
    CHECK(mute.goaway() == 11);
}

TEST_CASE("http2: streams too many that nobody is told of are too many") {
    server_limits limits = few(2);
    limits.http2.resets_burst = 100'000;
    http2_client mute(slow_and_quick(), limits, false);
    // It acknowledges no settings.
    ask_unseen(mute, 6'000,
               "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + make_frame(settings_frame, 0, 0, ""));
    CHECK(mute.goaway() == 11);
}

TEST_CASE("http2: streams that have a priority before they begin count as begun") {
    http2_client c(slow_and_quick(), few(4));
    c.ask(1, asking("GET", "/slow"));
    c.ask(3, asking("GET", "/slow"));
    for (const std::uint32_t id : {5, 7, 5})
        c.send(make_frame(0x10, 0, 0, number(id) + "u=1"));
    c.advance(1s);
    CHECK(c.answers[3].content == "slow");
    CHECK(c.goaway() == -1);
    for (const std::uint32_t id : {9, 11}) // in the places of those that are over
        c.send(make_frame(0x10, 0, 0, number(id) + "u=1"));
    CHECK(c.goaway() == -1);
    c.send(make_frame(0x10, 0, 0, number(13) + "u=1"));
    CHECK(c.goaway() == 1); // RFC 9218 section 7.1
}

TEST_CASE("http2: streams without end may each have a priority before they begin") {
    server_limits limits;
    limits.http2.idle_frames_burst = 10'000;
    const std::string block = encode(asking("GET", "/quick"));
    const auto headers = [&](std::uint32_t id) {
        return make_frame(headers_frame, end_headers | end_stream, id, block);
    };
    const std::string weight(1, '\x10');
    for (const std::string_view by : {"PRIORITY_UPDATE", "of many", "PRIORITY", "dependency"}) {
        CAPTURE(by);
        http2_client c(slow_and_quick(), limits);
        std::uint32_t answered = 0;
        for (std::uint32_t id = 1; id < 2'000; id += 2) {
            if (by == "PRIORITY_UPDATE")
                c.send(make_frame(0x10, 0, 0, number(id) + "u=1, i") + headers(id));
            else if (by == "of many") // and of some that are passed over
                c.send(make_frame(0x10, 0, 0, number(id + 2 * (id % 100)) + "u=1") + headers(id));
            else if (by == "PRIORITY") // on another that is idle, too
                c.send(make_frame(priority_frame, 0, id, number(id + 2'002) + weight) +
                       make_frame(priority_frame, 0, id + 4'000, number(id) + weight) +
                       headers(id));
            else
                c.send(make_frame(headers_frame, end_headers | end_stream | 0x20, id,
                                  number(id + 2) + weight + block));
            if (c.answers[id].content == "quick")
                ++answered;
        }
        CHECK(answered == 1'000);
        CHECK(c.goaway() == -1);
    }
}

TEST_CASE("http2: SETTINGS may name as many as fit into a frame") {
    for (const int count : {32, 33, 2'730}) {
        CAPTURE(count);
        std::string wishes;
        for (int i = 0; i < count; ++i)
            wishes += number(0x1000 + static_cast<std::uint32_t>(i), 2) + number(1);
        http2_client c(slow_and_quick(), {}, false);
        c.hello(wishes);
        c.ask(1, asking("GET", "/quick"));
        CHECK(c.answers[1].content == "quick");
    }
}

/// Answers with fields, or trailers, of so many bytes: in two, each of which a client takes.
router verbose() {
    const auto half = [](const request& asked) {
        return std::string(asked.param<std::size_t>("bytes") / 2, 'x');
    };
    router made = slow_and_quick();
    made.get("/head/{bytes}",
             [half](const request& asked) {
                 return response::text("all").header("X-A", half(asked)).header("X-B", half(asked));
             })
        .get("/trailers/{bytes}", [half](const request& asked) {
            return response::stream([fields = half(asked)](body_writer& out) -> task<void> {
                co_await out.write("all");
                out.add_trailer("X-A", fields);
                out.add_trailer("X-B", fields);
            });
        });
    return made;
}

TEST_CASE("http2: fields of an answer may be many frames") {
    http2_client c(verbose());
    std::uint32_t id = 1;
    for (const std::string path : {"/head/120000", "/trailers/120000"}) {
        CAPTURE(path);
        c.ask(id, asking("GET", path));
        const http2_client::answer& got = c.answers[id];
        CHECK(got.get(":status") == "200");
        CHECK(got.get("x-a") == std::string(60'000, 'x'));
        CHECK(got.get("x-b") == std::string(60'000, 'x'));
        CHECK(got.content == "all");
        CHECK(got.ended);
        id += 2;
    }
    CHECK(c.goaway() == -1);
}

TEST_CASE("http2: a stream whose fields cannot be sent is reset, and the others go on") {
    http2_client c(verbose());
    c.ask(1, asking("GET", "/slow"));
    c.ask(3, asking("GET", "/head/20000000"));
    CHECK(c.answers[3].heads.empty());
    CHECK(c.answers[3].reset == 2);
    c.ask(5, asking("GET", "/trailers/20000000"));
    CHECK(c.answers[5].content == "all");
    CHECK_FALSE(c.answers[5].ended);
    CHECK(c.answers[5].reset == 2);
    c.advance(1s);
    CHECK(c.answers[1].content == "slow");
    CHECK(c.goaway() == -1);
}

/// One stream, which does nothing about what happens to it.
struct still_stream : h2::engine_stream, h2::engine_events {
    h2::engine_stream* on_begin(std::int32_t /*id*/) override { return this; }
    void on_field(h2::engine_stream* /*of*/, std::string_view /*name*/, std::string_view /*value*/,
                  bool /*trailer*/) override {}
    void on_request(h2::engine_stream* /*of*/, bool /*more*/) override {}
    void on_content(h2::engine_stream* /*of*/, std::string_view /*piece*/) override {}
    void on_content_end(h2::engine_stream* /*of*/) override {}
    void on_trailers(h2::engine_stream* /*of*/) override {}
    void on_sent(h2::engine_stream* /*of*/, std::size_t /*bytes*/, bool /*last*/,
                 bool /*cut*/) noexcept override {}
    void on_closed(h2::engine_stream* /*of*/) override {}
    bool send_shared(std::string& /*before*/, const io::shared_bytes& /*content*/) override {
        return false;
    }
    bool on_provoked_reset() noexcept override { return true; }

protected:
    ~still_stream() = default;
};

/// One stream, whose answer is no more than its trailers, for which there is no memory.
struct forgetful_stream final : still_stream {
    headers trailers;
    content ready(std::size_t /*bytes_max*/) noexcept override {
        ::test::allocations_left = 0;
        ::test::failures_left = 1;
        return {.bytes = 0, .last = true, .trailers = &trailers};
    }
    slice take(std::size_t /*bytes*/) noexcept override { return {}; }
};

TEST_CASE("http2: that there is no memory for trailers is said") {
    forgetful_stream one;
    one.trailers.add("X-Large", std::string(40'000, 'x')); // of a size that nobody keeps
    h2::engine engine(one, server_limits{});
    std::string out;
    CHECK_FALSE(engine.read(
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + make_frame(settings_frame, 0, 0) +
        make_frame(headers_frame, end_headers | end_stream, 1, encode(asking("GET", "/")))));
    engine.answer(1, response(), true);
    bool said = false;
    try {
        engine.write(out, 32'768);
    } catch (const std::bad_alloc&) {
        said = true;
    }
    ::test::allocations_left = -1;
    CHECK(said);
}

/// One stream, whose answer is shared content. Every other piece of it can be sent from where it
/// is.
struct sharing_stream final : still_stream {
    io::shared_bytes all;
    std::string_view left;
    std::string sent;      // what has left, in order
    std::size_t asked = 0; // how often
    std::size_t from_there = 0;

    explicit sharing_stream(std::string_view of) : all(of), left(all.view()) {}
    content ready(std::size_t /*bytes_max*/) noexcept override {
        return {.bytes = left.size(), .last = true};
    }
    slice take(std::size_t bytes) noexcept override {
        const std::string_view taken = left.substr(0, bytes);
        left.remove_prefix(bytes);
        return {taken, &all};
    }
    bool send_shared(std::string& before, const io::shared_bytes& content) override {
        if (++asked % 2 == 0)
            return false;
        const char* const at = content.view().data();
        const std::string_view whole = all.view();
        CHECK((at >= whole.data() && at + content.size() <= whole.data() + whole.size()));
        from_there += content.size();
        sent.append(before).append(content.view());
        before.clear();
        return true;
    }
};

/// The content of the DATA frames in `bytes`.
std::string content_of(std::string_view bytes) {
    std::string content;
    while (bytes.size() >= 9) {
        const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
        const std::size_t size = byte(0) << 16U | byte(1) << 8U | byte(2);
        if (byte(3) == data_frame)
            content += bytes.substr(9, size);
        bytes.remove_prefix(std::min(bytes.size(), 9 + size));
    }
    CHECK(bytes.empty());
    return content;
}

TEST_CASE("http2: shared content leaves from where it is, in order, or as a copy") {
    std::string letters;
    for (std::size_t i = 0; i < 60'000; ++i)
        letters += static_cast<char>('a' + i % 23 + i / 5'000);
    sharing_stream one(letters);
    h2::engine engine(one, server_limits{});
    CHECK_FALSE(engine.read(
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + make_frame(settings_frame, 0, 0) +
        make_frame(headers_frame, end_headers | end_stream, 1, encode(asking("GET", "/")))));
    engine.answer(1, response(), true);
    std::string out;
    do {
        out.clear();
        engine.write(out, 1'000);
        one.sent += out;
    } while (!out.empty());
    CHECK(content_of(one.sent) == letters);
    CHECK(one.asked == 4);                        // 16,384 each, and the rest
    CHECK(one.from_there == std::size_t{32'768}); // the first and the third
}

TEST_CASE("http2: SETTINGS before any stream excuse no WINDOW_UPDATE") {
    sharing_stream one("");
    h2::engine engine(one, server_limits{});
    CHECK_FALSE(engine.read(
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + make_frame(settings_frame, 0, 0) +
        make_frame(headers_frame, end_headers | end_stream, 1, encode(asking("GET", "/"))) +
        make_frame(window_frame, 0, 1, std::string("\x7f\xff\xff\xff", 4))));
    std::string out;
    engine.write(out, 1'000);
    const std::string reset = make_frame(reset_frame, 0, 1, std::string("\0\0\0\3", 4));
    CHECK(out.find(reset) != std::string::npos);
    CHECK_FALSE(engine.over());
}

} // namespace
} // namespace rota::http
