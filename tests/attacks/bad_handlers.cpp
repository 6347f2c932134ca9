// rota-http with handlers that do what no handler should: below /throw/ they throw, /hold holds the
// thread that runs it until /release is asked for, /loop never has to wait until /loop/end is.

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <rota/channel.hpp>
#include <rota/errors.hpp>
#include <rota/http/error.hpp>
#include <rota/io/end_signals.hpp>
#include <rota/routine.hpp>
#include <rota/sleep.hpp>
#include <rota/task.hpp>
#include <rota/worker.hpp>

#include "logging.hpp"
#include "process.hpp"
#include "program.hpp"
#include "settings.hpp"

namespace {

using rota::task;
using rota::http::body_writer;
using rota::http::request;
using rota::http::response;
using rota::http::router;

/// No exception of the standard library, and its copy throws.
struct bare {
    bare() = default;
    explicit bare(int n) : number(n) {}
    int number = 0;
};

[[noreturn]] void throw_nested() {
    try {
        try {
            throw std::runtime_error("the innermost of three");
        } catch (...) {
            std::throw_with_nested(std::logic_error("around it"));
        }
    } catch (...) {
        std::throw_with_nested(std::runtime_error("around both"));
    }
}

/// What is thrown goes by the last segment of the path.
[[noreturn]] void throw_one(std::string_view what) {
    if (what == "exception")
        throw std::runtime_error("a handler has failed");
    if (what == "int")
        throw 42;
    if (what == "text")
        throw "a text";
    if (what == "bare")
        throw bare(7);
    if (what == "nested")
        throw_nested();
    if (what == "pointer")
        throw static_cast<const bare*>(nullptr);
    if (what == "no-memory")
        throw std::bad_alloc();
    if (what == "cancelled")
        throw rota::operation_cancelled();
    if (what == "timed-out")
        throw rota::timed_out();
    if (what == "reset")
        throw std::system_error(ECONNRESET, std::system_category(), "of another connection");
    throw rota::http::http_error(404, "there is no such thing to throw");
}

response throw_at_once(const request& req) { throw_one(req.param("what")); }

task<response> throw_later(const request* req) {
    co_await rota::sleep_for(std::chrono::milliseconds(1));
    throw_one(req->param("what"));
    co_return response::text("never");
}

/// After some of the answer has gone out.
task<void> write_and_throw(body_writer* to, std::string what) {
    for (int i = 0; i < 10; ++i)
        co_await to->write("a piece of an answer\n");
    co_await to->flush();
    throw_one(what);
}

response throw_in_stream(const request& req) {
    return response::stream([what = std::string(req.param("what"))](body_writer& to) {
        return write_and_throw(&to, what);
    });
}

/// Says that 1000 bytes come, and throws before.
response throw_in_sized_stream(const request& req) {
    return response::stream(1'000, [what = std::string(req.param("what"))](body_writer& to) {
        return write_and_throw(&to, what);
    });
}

/// With the content unread.
task<response> throw_unread(const request* req) {
    throw_one(req->param("what"));
    co_return response::text("never");
}

task<response> middleware_that_throws(request& req, rota::http::next proceed) {
    task<response> answering = proceed(req);
    response answer = co_await std::move(answering);
    throw_one("exception");
    co_return std::move(answer);
}

/// Holds threads, as no handler should, until somebody releases them.
class holder {
public:
    response hold() {
        std::unique_lock guard(lock_);
        ++held_;
        const bool in_time =
            released_.wait_for(guard, std::chrono::seconds(60), [this] { return may_go_ > 0; });
        --held_;
        may_go_ -= in_time ? 1 : 0;
        return response::text(in_time ? "released\n" : "nobody came\n");
    }
    /// One of them.
    response release() {
        const std::lock_guard guard(lock_);
        ++may_go_;
        released_.notify_one();
        return response::text("one may go\n");
    }
    response held() {
        const std::lock_guard guard(lock_);
        return response::text(std::to_string(held_));
    }

private:
    std::mutex lock_;
    std::condition_variable released_;
    int held_ = 0;
    int may_go_ = 0;
};

/// Takes what is always there, again and again, until another request ends it. Its worker has one
/// thread, so whatever is answered meanwhile has had its turn between two of its awaits.
class looper {
public:
    task<response> loop() {
        rota::routine& self = co_await rota::current_routine;
        rota::channel<int> ready(1);
        auto turn = self.home().turn_time();
        awaits_ = 0;
        turns_ = 1;
        while (!end_.exchange(false) && awaits_ < awaits_max) {
            co_await ready.push(1);
            (void)co_await ready.pop();
            awaits_ += 2;
            if (const auto now = self.home().turn_time(); now != turn) {
                turn = now;
                ++turns_;
            }
        }
        co_return told();
    }
    response told() const {
        return response::text(std::to_string(awaits_) + " " + std::to_string(turns_));
    }
    response end() {
        end_ = true;
        return told();
    }

private:
    static constexpr std::uint64_t awaits_max = 1'000'000'000; // a minute, if nothing can end it
    std::atomic<std::uint64_t> awaits_{0};
    std::atomic<std::uint64_t> turns_{0};
    std::atomic<bool> end_{false};
};

router bad_routes(holder& threads, looper& loops) {
    router bad;
    bad.get("/throw/at-once/{what}", throw_at_once)
        .get("/throw/later/{what}", [](request& req) { return throw_later(&req); })
        .get("/throw/stream/{what}", throw_in_stream)
        .get("/throw/sized/{what}", throw_in_sized_stream)
        .post("/throw/unread/{what}", [](request& req) { return throw_unread(&req); })
        .get("/hold", [&threads] { return threads.hold(); })
        .get("/release", [&threads] { return threads.release(); })
        .get("/held", [&threads] { return threads.held(); })
        .get("/loop", [&loops](request&) { return loops.loop(); })
        .get("/loop/told", [&loops] { return loops.told(); })
        .get("/loop/end", [&loops] { return loops.end(); });
    router within;
    within.use(middleware_that_throws).get("/plaintext", [] { return response::fixed("never"); });
    bad.mount("/throw/middleware", std::move(within));
    return bad;
}

} // namespace

int main(int argc, char** argv) {
    rota_http::prepare_process();
    try {
        rota_http::settings from;
        if (const auto code = rota_http::read_command_line(argc, argv, from, std::cout, std::cerr))
            return *code;
        const rota_http::logging log(from.log_level);
        rota::io::end_signals signals(from.drain_timeout);
        holder threads;
        looper loops;
        rota_http::program served(from, bad_routes(threads, loops));
        served.run(signals);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bad_handlers: %s\n", e.what());
        return 1;
    }
    return 0;
}
