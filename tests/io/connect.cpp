// connect(): io/src/connect.cpp, declared in listener.hpp.

#include <cerrno>
#include <optional>
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <unistd.h>

#include <rota/errors.hpp>
#include <rota/io/listener.hpp>
#include <rota/with_timeout.hpp>

#include "support.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;
using rota::task;

namespace {

task<int> error_of_connect(context* ctx, endpoint to, deadline until) {
    try {
        connection made = co_await connect(*ctx, to, until);
        co_return 0;
    } catch (const std::system_error& e) {
        co_return e.code().value();
    }
}

/// A port at which nobody listens any more.
endpoint deserted() { return plain_listener().where(); }

/// A listener whose backlog is full: further connects wait.
struct full_house {
    plain_listener listening;
    std::vector<peer> inside;
    explicit full_house(const endpoint& at) : listening(at, 0) {
        for (int i = 0; i < 8; ++i) {
            peer p(::socket(at.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
            static_cast<void>(
                ::connect(p.fd(), listening.where().address(), listening.where().length()));
            inside.push_back(std::move(p));
        }
    }
};

endpoint crowded_name() {
    return endpoint::unix_path("@rota-test-full-house-" + std::to_string(::getpid()));
}

/// TCP, where a connect is under way, and a Unix socket, where the kernel waits for room first.
endpoint each_address() { return GENERATE(endpoint::ip("127.0.0.1", 0), crowded_name()); }

task<bool> cancelled_connect(context* ctx, endpoint to) {
    try {
        connection made = co_await connect(*ctx, to);
        co_return false;
    } catch (const rota::operation_cancelled&) {
        co_return true;
    }
}

task<void> record_cancelled(context* ctx, endpoint to, std::atomic<bool>* out) {
    const bool was = co_await cancelled_connect(ctx, to);
    out->store(was);
}

} // namespace

TEST_CASE("a refused connect says so") {
    context ctx(options_for(each_combination()));
    CHECK(ctx.block_on(error_of_connect(&ctx, deserted(), {})) == ECONNREFUSED);
}

TEST_CASE("a connect that nobody answers ends at its deadline") {
    context ctx(options_for(each_combination()));
    const full_house full(each_address());
    const std::size_t before = open_descriptors();
    const auto until = std::chrono::steady_clock::now() + 30ms;
    CHECK(ctx.block_on(error_of_connect(&ctx, full.listening.where(), until)) == ETIMEDOUT);
    CHECK(std::chrono::steady_clock::now() >= until);
    CHECK(open_descriptors() == before);
}

TEST_CASE("a connect that nobody answers ends when its routine is stopped") {
    context ctx(options_for(each_combination()));
    const full_house full(each_address());
    std::atomic<bool> cancelled = false;
    const rota::routine_ptr r =
        ctx.workers().spawn(record_cancelled(&ctx, full.listening.where(), &cancelled));
    while (r->state() != rota::routine_state::blocked)
        std::this_thread::yield();
    r->request_stop();
    r->wait_stopped();
    CHECK(cancelled);
}

TEST_CASE("a connect to a full Unix socket goes on when there is room") {
    context ctx(options_for(each_combination()));
    full_house full(crowded_name());
    std::atomic<int> error = -1;
    constexpr auto body = [](context* c, endpoint to, std::atomic<int>* out) -> task<void> {
        const int e = co_await error_of_connect(c, to, {});
        out->store(e);
    };
    const rota::routine_ptr r = ctx.workers().spawn(body(&ctx, full.listening.where(), &error));
    while (r->state() != rota::routine_state::blocked)
        std::this_thread::yield();
    CHECK(error == -1);
    const peer let_in = full.listening.accept();
    r->wait_stopped();
    CHECK(error == 0);
}

TEST_CASE("a Unix socket that is not there is an error of connect") {
    context ctx(options_for(each_combination()));
    const endpoint nowhere = endpoint::unix_path("/nonexistent/rota.sock");
    CHECK(ctx.block_on(error_of_connect(&ctx, nowhere, {})) == ENOENT);
}
