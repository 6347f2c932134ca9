// WebSockets in whole servers, on every backend and topology.
#include <rota/http/websocket.hpp>

#include <atomic>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>

#include <catch2/catch_test_macros.hpp>
#include <rota/errors.hpp>
#include <rota/io/outbox.hpp>
#include <rota/when_all.hpp>
#include <rota/with_timeout.hpp>
#include <rota/yield.hpp>

#include "peer.hpp"

namespace rota::http {
namespace {

using namespace std::chrono_literals;
using ws::test::answer;
using ws::test::answer_close;
using ws::test::close_frame;
using ws::test::frame;

task<void> echo(websocket ws) {
    while (const auto message = co_await ws.read())
        co_await ws.send(*message);
}

router only(websocket_handler serve, websocket_options options = {}) {
    router made;
    made.get("/", serve_websockets(std::move(serve), std::move(options)));
    return made;
}

TEST_CASE("an echo on every backend", "[server]") {
    io::context ctx(two_workers(each_layout()));
    running s(ctx, only(echo));
    {
        const peer one(s.address());
        one.send(frame("hi"));
        CHECK(one.gets(answer(1, "hi")));
        one.send(frame("a", {.fin = false}) + frame("p", {.op = 9}) +
                 frame("b", {.op = 0, .fin = false}));
        CHECK(one.gets(answer(10, "p")));
        one.send(frame("", {.op = 0}));
        CHECK(one.gets(answer(1, "ab")));
        for (const std::size_t size :
             {0UL, 125UL, 126UL, 3'000UL, 65'535UL, 65'536UL, 1'000'000UL}) {
            const std::string data(size, '\xfe');
            std::jthread sending([&] { one.send(frame(data, {.op = 2})); });
            CHECK(one.gets(answer(2, data)));
        }
        one.send(close_frame(3000, "enough") + frame("behind"));
        CHECK(one.read_all() == answer_close(3000) + "<end>");
    }
    {
        const peer one(s.address());
        one.send(frame("x", {.op = 8}).substr(0, 1)); // half a head
        one.finish();
        CHECK(one.read_all() == "<end>");
    }
    s.drain_and_join();
    CHECK((*s).metrics().connections_open == 0);
}

TEST_CASE("pipelined messages are answered in order") {
    io::context ctx(two_workers());
    running s(ctx, only(echo));
    const peer one(s.address());
    std::string sent;
    std::string expected;
    for (int i = 0; i < 1'000; ++i) {
        sent += frame(std::to_string(i));
        expected += answer(1, std::to_string(i));
    }
    one.send(sent);
    CHECK(one.gets(expected));
}

TEST_CASE("each way to break the protocol has its code") {
    io::context ctx(two_workers());
    websocket_options options;
    options.message_bytes_max = 1'000;
    running s(ctx, only(echo, options));
    const auto code_of = [&](std::string_view bytes) {
        const peer one(s.address());
        one.send(bytes);
        const std::string end = one.read_all();
        CHECK(end.ends_with("<end>"));
        REQUIRE(end.size() > 4);
        CHECK(end[0] == '\x88');
        return static_cast<unsigned char>(end[2]) * 256 + static_cast<unsigned char>(end[3]);
    };
    CHECK(code_of(frame("x", {.masked = false})) == 1002);
    CHECK(code_of(frame("x", {.rsv = 1})) == 1002);
    CHECK(code_of(frame("x", {.op = 0})) == 1002);
    CHECK(code_of(frame("\xff")) == 1007);
    CHECK(code_of(frame("\xe2\x82\xff..", {.fin = false}).substr(0, 9)) == 1007);
    CHECK(code_of(frame(std::string(1'001, 'x'))) == 1009);
    CHECK(code_of(frame("x", {.op = 8})) == 1002);
    for (const unsigned code : {0U, 999U, 1004U, 1005U, 1006U, 1015U, 2999U, 5000U, 65'535U})
        CHECK(code_of(close_frame(code)) == 1002);
    for (const unsigned code : {1000U, 1003U, 1007U, 1014U, 3000U, 4999U})
        CHECK(code_of(close_frame(code)) == static_cast<int>(code));
    CHECK(code_of(close_frame(1000, "\xff")) == 1007);
    const peer silent(s.address());
    silent.send(frame("", {.op = 8}));
    CHECK(silent.read_all() == answer(8, "") + "<end>");
}

TEST_CASE("how it has ended is known", "[server]") {
    io::context ctx(two_workers());
    std::atomic<int> code{0};
    running s(ctx, only([&](websocket ws) -> task<void> {
                  while (co_await ws.read()) {
                  }
                  code = ws.close_code();
                  CHECK(ws.is_closing());
                  CHECK_THROWS_AS(co_await ws.send_text("late"), std::system_error);
              }));
    const auto after = [&](std::string_view bytes) {
        code = 0;
        {
            const peer one(s.address());
            one.send(bytes);
            one.finish();
            one.read_all();
        }
        while (code == 0)
            std::this_thread::yield();
        return code.load();
    };
    CHECK(after(close_frame(4321)) == 4321);
    CHECK(after(frame("", {.op = 8})) == 1005);
    CHECK(after("") == 1006);
    CHECK(after(frame("\xff")) == 1007);
}

task<void> read_to_the_end(websocket* ws) {
    while (co_await ws->read()) {
    }
}

TEST_CASE("a close by another routine than the reader is not waited for longer, either") {
    io::context ctx(two_workers(each_layout()));
    websocket_options options;
    options.close_within = 20ms;
    options.ping_after = 0ms;
    options.rest_after = 1min; // what the reader waits for, unless it is woken
    running s(ctx, only(
                       [](websocket ws) -> task<void> {
                           co_await when_all(read_to_the_end(&ws), ws.close(4001, "enough"));
                           CHECK(ws.close_code() == 4001);
                       },
                       options));
    const peer mute(s.address());
    CHECK(mute.read_all() == answer_close(4001, "enough") + "<end>");
}

TEST_CASE("the server closes, and waits for the answer") {
    io::context ctx(two_workers());
    websocket_options options;
    options.close_within = 20ms;
    running s(ctx, only(
                       [](websocket ws) -> task<void> {
                           const auto first = co_await ws.read();
                           if (!first || first->data == "return")
                               co_return;
                           if (first->data == "throw")
                               throw std::runtime_error("as it was told");
                           co_await ws.close(4000, first->data);
                           CHECK(!co_await ws.read());
                       },
                       options));
    {
        const peer one(s.address());
        one.send(frame("why") + frame("dropped"));
        CHECK(one.gets(answer_close(4000, "why")));
        one.send(frame("dropped", {.fin = false}) + frame("", {.op = 9}) + close_frame(4000));
        CHECK(one.read_all() == "<end>");
    }
    {
        const peer one(s.address());
        one.send(frame("return"));
        CHECK(one.gets(answer_close(1000)));
        one.send(close_frame(1000));
        CHECK(one.read_all() == "<end>");
    }
    {
        const peer one(s.address());
        one.send(frame("throw"));
        CHECK(one.gets(answer_close(1011)));
        one.send(close_frame(1011));
        CHECK(one.read_all() == "<end>"); // it has been told all
    }
    const peer mute(s.address()); // never answers
    mute.send(frame("x"));
    CHECK(mute.read_all() == answer_close(4000, "x") + "<end>");
}

TEST_CASE("what must not be said is refused") {
    io::context ctx(two_workers());
    running s(ctx, only([](websocket ws) -> task<void> {
                  CHECK_THROWS_AS(co_await ws.send_text("\xff"), std::invalid_argument);
                  CHECK_THROWS_AS(co_await ws.close(1005), std::invalid_argument);
                  CHECK_THROWS_AS(co_await ws.close(1000, std::string(124, 'x')),
                                  std::invalid_argument);
                  CHECK_THROWS_AS(co_await ws.ping(std::string(126, 'x')), std::invalid_argument);
                  CHECK_THROWS_AS(websocket::text_frame("\xff"), std::invalid_argument);
                  co_await ws.ping("is it there");
                  co_await ws.send_text("good");
                  co_await ws.send_binary("\xff");
              }));
    const peer one(s.address());
    CHECK(one.gets(answer(9, "is it there") + answer(1, "good") + answer(2, "\xff") +
                   answer_close(1000)));
    one.send(close_frame(1000));
    CHECK(one.read_all() == "<end>");
}

TEST_CASE("pieces as they come, and deadlines that lose nothing") {
    io::context ctx(two_workers());
    running s(ctx, only([](websocket ws) -> task<void> {
                  bool late = false;
                  try {
                      (void)co_await ws.read(std::chrono::steady_clock::now() + 5ms);
                  } catch (const timed_out&) {
                      late = true;
                  }
                  CHECK(late);
                  co_await ws.send_text("late");
                  const auto first = co_await ws.read_piece();
                  CHECK((first && first->data == "ab" && !first->last && first->text));
                  co_await ws.send_text("seen");
                  const auto rest = co_await ws.read();
                  CHECK((rest && rest->data == "cd" && rest->last));
              }));
    const peer one(s.address());
    CHECK(one.gets(answer(1, "late")));
    one.send(frame("ab", {.fin = false}));
    CHECK(one.gets(answer(1, "seen")));
    one.send(frame("cd", {.op = 0}) + close_frame(1000));
    CHECK(one.read_all() == answer_close(1000) + "<end>");
}

TEST_CASE("a piece waits neither for what stands behind it nor for more") {
    io::context ctx(two_workers());
    running s(ctx, only([](websocket ws) -> task<void> {
                  const auto first = co_await ws.read_piece();
                  CHECK((first && first->data == "ab" && !first->last));
                  co_await ws.send_text("seen");
                  bool late = false;
                  try {
                      (void)co_await ws.read(std::chrono::steady_clock::now() + 20ms);
                  } catch (const timed_out&) {
                      late = true;
                  }
                  CHECK(late);
                  const auto second = co_await ws.read_piece(); // which that has left
                  CHECK((second && second->data == "cd" && !second->last));
                  co_await ws.send_text("seen, too");
                  CHECK(!co_await ws.read());
              }));
    const peer one(s.address());
    one.send(frame("ab", {.fin = false}) + frame("p", {.op = 9}) +
             frame("cd", {.op = 0, .fin = false}));
    CHECK(one.gets(answer(1, "seen") + answer(10, "p") + answer(1, "seen, too")));
    one.send(close_frame(1000));
    CHECK(one.read_all() == answer_close(1000) + "<end>");
}

TEST_CASE("a message that is cut is the end of the conversation") {
    io::context ctx(two_workers());
    std::atomic<int> code{0};
    running s(ctx, only([&](websocket ws) -> task<void> {
                  const std::string big(32'000'000, 'x');
                  bool late = false;
                  try {
                      co_await ws.send_binary(big, std::chrono::steady_clock::now() + 20ms);
                  } catch (const timed_out&) {
                      late = true;
                  }
                  CHECK(late);
                  CHECK(ws.is_closing());
                  CHECK_THROWS_AS(co_await ws.send_text("behind it"), std::system_error);
                  CHECK(!co_await ws.read());
                  code = ws.close_code();
              }));
    const peer deaf(s.address());
    while (code == 0)
        std::this_thread::yield();
    CHECK(code == 1006);
    CHECK(deaf.read_all().ends_with("<error>"));
}

TEST_CASE("a client that is silent gets a ping, and is gone if it stays so") {
    io::context ctx(two_workers());
    websocket_options options;
    options.ping_after = 20ms;
    options.gone_after = 60'000ms;
    options.rest_after = 5ms;
    websocket_options strict = options;
    strict.gone_after = 20ms;
    router both = only(echo, options);
    both.get("/strict", serve_websockets(echo, strict));
    running s(ctx, std::move(both));
    const peer patient(s.address());
    CHECK(patient.gets(answer(9, "")));
    patient.send(frame("", {.op = 10}));
    CHECK(patient.gets(answer(9, "")));
    patient.send(frame("here"));
    CHECK(patient.read_to(answer(1, "here")).ends_with(answer(1, "here")));
    const peer dead(s.address(), "/strict");
    CHECK(dead.gets(answer(9, "")));
    CHECK(dead.read_all().starts_with('<'));
}

TEST_CASE("a drain says 1001", "[server]") {
    io::context ctx(two_workers(each_layout()));
    running s(ctx, only(echo));
    const peer one(s.address());
    one.send(frame("hi"));
    CHECK(one.gets(answer(1, "hi")));
    (*s).drain();
    CHECK(one.gets(answer_close(1001, "the server is about to end")));
    one.send(close_frame(1001));
    CHECK(one.read_all() == "<end>");
    s.drain_and_join();
}

TEST_CASE("a drain lets a message end that is being sent", "[server]") {
    io::context ctx(two_workers(each_layout()));
    io::outbox* outbox = nullptr;
    std::atomic<bool> ready{false};
    running s(ctx, only([&](websocket ws) -> task<void> {
                  io::outbox out({.bytes_max = 100'000'000});
                  outbox = &out;
                  ready = true;
                  task<void> body = echo(ws);
                  co_await ws.serve(out, std::move(body));
              }));
    const peer one(s.address());
    while (!ready)
        std::this_thread::yield();
    const std::string big(16'000'000, 'x'); // more than the kernel takes
    CHECK(outbox->try_send(websocket::binary_frame(big)));
    const std::string message = answer(2, big);
    CHECK(one.read_just_to(message.substr(0, 11)) == message.substr(0, 11)); // it has begun
    (*s).drain();
    CHECK(one.gets(message.substr(11) + answer_close(1001, "the server is about to end")));
    one.send(close_frame(1001));
    CHECK(one.read_all() == "<end>");
}

TEST_CASE("messages of others, each encoded once", "[server]") {
    io::context ctx(two_workers());
    io::outbox* outbox = nullptr;
    std::atomic<bool> ready{false};
    running s(ctx, only([&](websocket ws) -> task<void> {
                  io::outbox out({.bytes_max = 200'000});
                  outbox = &out;
                  ready = true;
                  task<void> body = echo(ws);
                  co_await ws.serve(out, std::move(body));
              }));
    const std::string big(100'000, 'x');
    {
        const peer one(s.address());
        while (!ready)
            std::this_thread::yield();
        CHECK(outbox->try_send(websocket::text_frame("from elsewhere")));
        CHECK(one.gets(answer(1, "from elsewhere")));
        one.send(frame("mine", {.op = 2}));
        CHECK(one.gets(answer(2, "mine")));
        CHECK(outbox->try_send(websocket::binary_frame(big)));
        CHECK(one.gets(answer(2, big)));
        one.send(close_frame(1000));
        CHECK(one.read_all() == answer_close(1000) + "<end>");
    }
    ready = false;
    const peer deaf(s.address());
    while (!ready)
        std::this_thread::yield();
    const io::shared_bytes message = websocket::binary_frame(big);
    while (outbox->try_send(message))
        std::this_thread::yield();
    CHECK(deaf.read_all().ends_with("<error>"));
}

/// Another stream, before which `first` comes, and `again` so many times: no wait ever begins.
class flooded_stream final : public io::stream {
public:
    flooded_stream(io::stream& below, const std::string& first, const std::string& again,
                   std::atomic<int>& times)
        : below_(below), bytes_(first + again), first_(first.size()), times_(times) {}

    [[nodiscard]] std::string_view buffered() const noexcept override {
        return times_ > 0 ? std::string_view(bytes_).substr(at_) : below_.buffered();
    }
    void consume(std::size_t bytes) noexcept override {
        if (times_ > 0)
            at_ += bytes;
        else
            below_.consume(bytes);
    }
    task<bool> fill(io::deadline until) override {
        if (times_ <= 0)
            co_return co_await below_.fill(until);
        co_await yield();
        at_ = first_;
        --times_;
        co_return true;
    }
    task<bool> fill_more(io::deadline until) override { return fill(until); }
    [[nodiscard]] bool peer_closed() const noexcept override { return below_.peer_closed(); }
    task<void> write(std::string_view bytes, io::deadline until) override {
        return below_.write(bytes, until);
    }
    task<void> write_owned(std::string bytes, io::deadline until) override {
        return below_.write_owned(std::move(bytes), until);
    }
    bool try_write(std::string_view bytes) override { return below_.try_write(bytes); }
    task<void> flush(io::deadline until) override { return below_.flush(until); }
    void shutdown_write() noexcept override { below_.shutdown_write(); }
    void abort() noexcept override { below_.abort(); }

private:
    io::stream& below_;
    const std::string bytes_;
    const std::size_t first_;
    std::atomic<int>& times_;
    std::size_t at_ = 0;
};

TEST_CASE("times are kept, however much comes") {
    io::context ctx(two_workers());
    const int op = GENERATE(10, 0); // fragments of a message without end
    const std::string first = op == 0 ? frame("", {.fin = false}) : "";
    const std::string again = frame("", {.op = op, .fin = op != 0});
    std::atomic<int> times{2'000'000};
    websocket_options options;
    options.close_within = 5ms;
    const websocket_handler serve = [&](websocket ws) -> task<void> {
        bool late = false;
        try {
            (void)co_await ws.read(std::chrono::steady_clock::now() + 5ms);
        } catch (const timed_out&) {
            late = true;
        }
        CHECK(late);
        CHECK(times > 0);
        co_await ws.close();
        CHECK(!co_await ws.read());
        CHECK(times > 0);
    };
    router made;
    made.get("/", [&] {
        return response::upgrade("websocket", [&](takeover& client) -> task<void> {
            flooded_stream flooded(client, first, again, times);
            websocket_terms terms;
            co_await serve_websocket(&flooded, std::move(terms), client.draining(), &options,
                                     &serve);
        });
    });
    running s(ctx, std::move(made));
    const peer one(s.address());
    CHECK(one.read_all() == answer_close(1000) + "<end>");
}

TEST_CASE("the stream below may be any", "[server]") {
    // What takes the connection over by itself, as another wire would.
    io::context ctx(two_workers());
    router made;
    const websocket_options options;
    const websocket_handler serve = echo;
    made.get("/", [&] {
        return response::upgrade("websocket", [&](takeover& client) {
            return serve_websocket(&client, {}, client.draining(), &options, &serve);
        });
    });
    running s(ctx, std::move(made));
    const peer one(s.address());
    one.send(frame("hi"));
    CHECK(one.gets(answer(1, "hi")));
}

} // namespace
} // namespace rota::http
