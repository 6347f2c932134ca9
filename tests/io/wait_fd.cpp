#include <rota/io/wait_fd.hpp>

#include <cerrno>

#include <catch2/catch_test_macros.hpp>
#include <poll.h>

#include <rota/errors.hpp>

#include "support.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;
using rota::task;

namespace {

struct pipe_ends {
    int read_end = -1;
    int write_end = -1;
    pipe_ends() {
        int fds[2];
        if (::pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0)
            throw std::system_error(errno, std::system_category(), "pipe2");
        read_end = fds[0];
        write_end = fds[1];
    }
    ~pipe_ends() {
        ::close(read_end);
        if (write_end >= 0)
            ::close(write_end);
    }
    pipe_ends(const pipe_ends&) = delete;
    pipe_ends& operator=(const pipe_ends&) = delete;
};

task<int> error_of_wait(context* ctx, int fd, std::uint32_t events, deadline until) {
    try {
        co_await wait_fd(*ctx, fd, events, until);
        co_return 0;
    } catch (const std::system_error& e) {
        co_return e.code().value();
    }
}

task<void> error_of_wait_alone(context* ctx, int fd) { co_await wait_fd(*ctx, fd, 0); }

} // namespace

TEST_CASE("a descriptor that becomes readable ends the wait for it") {
    context ctx(options_for(each_combination()));
    const pipe_ends p;
    std::atomic<std::uint32_t> ready = 0;
    constexpr auto wait = [](context* c, int fd, std::atomic<std::uint32_t>* out) -> task<void> {
        const std::uint32_t events = co_await wait_fd(*c, fd, POLLIN);
        out->store(events);
    };
    const rota::routine_ptr r = ctx.workers().spawn(wait(&ctx, p.read_end, &ready));
    while (r->state() != rota::routine_state::blocked)
        std::this_thread::yield();
    CHECK(ready == 0);
    REQUIRE(::write(p.write_end, "x", 1) == 1);
    finish(r);
    CHECK((ready & POLLIN) != 0);
}

TEST_CASE("the other end's close is told, whatever was asked for") {
    context ctx(options_for(each_combination()));
    pipe_ends p;
    ::close(std::exchange(p.write_end, -1));
    const std::uint32_t ready = ctx.block_on(wait_fd(ctx, p.read_end, POLLIN));
    CHECK((ready & POLLHUP) != 0);
}

TEST_CASE("a wait for nothing but the end of the other side ends as any other") {
    context ctx(options_for(each_combination()));
    pipe_ends p;
    const auto until = std::chrono::steady_clock::now() + 20ms;
    CHECK(ctx.block_on(error_of_wait(&ctx, p.read_end, 0, until)) == ETIMEDOUT);
    const rota::routine_ptr r =
        ctx.workers().spawn(error_of_wait_alone(&ctx, p.read_end), {.report_errors = false});
    while (r->state() != rota::routine_state::blocked)
        std::this_thread::yield();
    r->request_stop();
    r->wait_stopped();
    ::close(std::exchange(p.write_end, -1));
    const std::uint32_t ready = ctx.block_on(wait_fd(ctx, p.read_end, 0));
    CHECK((ready & POLLHUP) != 0);
}

TEST_CASE("a wait for a descriptor ends at its deadline") {
    context ctx(options_for(each_combination()));
    const pipe_ends p;
    const auto until = std::chrono::steady_clock::now() + 20ms;
    CHECK(ctx.block_on(error_of_wait(&ctx, p.read_end, POLLIN, until)) == ETIMEDOUT);
    CHECK(std::chrono::steady_clock::now() >= until);
}

TEST_CASE("a closed descriptor is an error") {
    context ctx(options_for(each_combination()));
    int fd = -1;
    {
        const pipe_ends p;
        fd = p.read_end;
    }
    CHECK(ctx.block_on(error_of_wait(&ctx, fd, POLLIN, {})) == EBADF);
}
