// What a drain waits for, and what is left after it.

#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include <catch2/catch_test_macros.hpp>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <rota/blocking.hpp>
#include <rota/under.hpp>

#include "support.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;
using rota::task;

namespace {

task<void> wait_for_end(connection client) {
    while ([[maybe_unused]] const bool more = co_await client.fill())
        client.consume(client.buffered().size());
}

bool has_stopped(const rota::routine& r) { return r.state() == rota::routine_state::stopped; }

/// Whether the server waits for the last of its handlers or clients.
bool is_draining(context& ctx) {
    for (const rota::blocked_routine& b : ctx.workers().blocked()) {
        if (b.name == "server" && b.what == "drain")
            return true;
    }
    return false;
}

/// Tells whether the log has had a line with certain words while this lives.
class awaited_line {
public:
    explicit awaited_line(std::string words) : sink_(std::make_shared<finder>(std::move(words))) {
        auto to_here = std::make_shared<spdlog::logger>("", sink_);
        to_here->set_level(spdlog::level::warn);
        spdlog::set_default_logger(std::move(to_here));
    }
    ~awaited_line() { spdlog::set_default_logger(before_); }
    awaited_line(const awaited_line&) = delete;
    awaited_line& operator=(const awaited_line&) = delete;
    [[nodiscard]] bool is_there() const { return sink_->found; }

private:
    struct finder final : spdlog::sinks::base_sink<std::mutex> {
        explicit finder(std::string what) : words(std::move(what)) {}
        void sink_it_(const spdlog::details::log_msg& line) override {
            const std::string_view text(line.payload.data(), line.payload.size());
            if (text.find(words) != std::string_view::npos)
                found = true;
        }
        void flush_() override {}
        const std::string words;
        std::atomic<bool> found{false};
    };
    std::shared_ptr<finder> sink_;
    std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
};

} // namespace

TEST_CASE("a drain is cut by its timeout, by a second drain, by a stop") {
    const combination how = each_combination();
    CAPTURE(how);
    const int cut = GENERATE(0, 1, 2);
    CAPTURE(cut);
    serving s(how, wait_for_end, [&](context_options&, server_options& o) {
        o.drain_timeout = cut == 0 ? 20ms : std::chrono::milliseconds(1h);
    });
    const peer client = s.dial();
    CHECK(becomes([&] { return s.s.connections() == 1; }));
    s.s.drain();
    if (cut == 1)
        s.s.drain();
    if (cut == 2)
        s.runner->request_stop();
    CHECK(client.receive_error() == 0); // the connection ends, in good order
    finish(s.runner);
    CHECK(s.s.connections() == 0);
}

TEST_CASE("a handler that is given the drain's token ends with the beginning of the drain") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    const awaited_line warning("");
    const std::string greeting = "captured, and long enough to be allocated";
    const auto keep = [greeting](connection client, std::stop_token draining) -> task<void> {
        co_await client.write_line(greeting);
        while (auto line = co_await rota::under(draining, client.read_line()))
            co_await client.write_line(*line);
        co_await client.write_line("its end");
    };
    server s(ctx, keep, {.listen = {endpoint::ip("127.0.0.1", 0)}, .drain_timeout = 1h});
    const auto runner = ctx.workers().spawn(s.run());
    const peer silent(s.listening().front());
    const peer ends(s.listening().front());
    for (const peer* const each : {&silent, &ends})
        CHECK(each->receive_exactly(greeting.size() + 1) == greeting + "\n");
    ends.send("a line\n");
    CHECK(ends.receive_exactly(7) == "a line\n");
    ends.shutdown_write();
    CHECK(ends.receive_all() == "its end\n");
    s.drain();
    CHECK(silent.receive_all().empty());
    finish(runner);
    CHECK_FALSE(warning.is_there()); // it ends in good order
    CHECK_THROWS_AS(server(ctx, server::drained_handler(), {.listen = {endpoint::ip("::1", 0)}}),
                    std::invalid_argument);
}

TEST_CASE("a drain cut short does not wait for a client whose bytes do not go out") {
    const combination how = each_combination();
    CAPTURE(how);
    constexpr auto flood = [](connection c) -> task<void> {
        const int little = 16 * 1024; // so that the kernel does not take all that is queued
        ::setsockopt(c.native_handle(), SOL_SOCKET, SO_SNDBUF, &little, sizeof little);
        const std::string much(100'000, 'x');
        for (;;)
            co_await c.write(much);
    };
    const auto token = std::make_shared<int>(0);
    const std::weak_ptr<int> alive = token;
    serving s(how, [flood, keep = token](connection c) { return flood(std::move(c)); });
    const peer client = s.dial();
    await_blocked(s.ctx, "client", "stream::write");
    s.s.drain();
    s.s.drain();
    finish(s.runner);
    CHECK(s.s.connections() == 1);
    CHECK(alive.use_count() == 1); // what the program gave is not kept until then
    s.ctx.stop();                  // cuts what lingers
    CHECK(s.s.connections() == 0);
    CHECK(client.receive_error() == ECONNRESET);
}

TEST_CASE("run() ends after a handler that goes on without its client, however often it is told") {
    const combination how = each_combination();
    CAPTURE(how);
    const int drains = GENERATE(1, 2);
    CAPTURE(drains);
    std::promise<void> begun; // before that the work could be withdrawn
    std::promise<void> released;
    std::atomic<bool> has_ended{false};
    const auto handler = [&](connection c) -> task<void> {
        constexpr auto go_on = [](connection client, std::promise<void>* start,
                                  std::promise<void>* gate, std::atomic<bool>* end) -> task<void> {
            { const connection dropped = std::move(client); }
            auto work = [start, gate, end] {
                start->set_value();
                gate->get_future().wait();
                *end = true;
            };
            co_await rota::blocking(std::ref(work));
        };
        return go_on(std::move(c), &begun, &released, &has_ended);
    };
    const awaited_line said("waiting for handlers");
    serving s(how, handler);
    CHECK(s.dial().receive_all().empty());
    begun.get_future().wait();
    CHECK(becomes([&] { return s.s.connections() == 0; }));
    for (int i = 0; i < drains; ++i)
        s.s.drain();
    CHECK(becomes([&] {
        return has_stopped(*s.runner) || (drains == 1 ? is_draining(s.ctx) : said.is_there());
    }));
    CHECK_FALSE(has_stopped(*s.runner));
    released.set_value();
    finish(s.runner);
    CHECK(has_ended);
}
