#include <rota/io/context.hpp>

#include <cerrno>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <thread>

#include <catch2/catch_test_macros.hpp>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rota/blocking.hpp>
#include <rota/detail/usable_cores.hpp>
#include <rota/sleep.hpp>

#include "framework/death.hpp"
#include "refuse_uring.hpp"
#include "support.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;
using rota::task;

namespace {

/// Runs `body` in a child process after `refuse`; its result is the exit status.
template <class Refuse>
int in_a_container(int (*body)(), Refuse&& refuse) {
    const pid_t child = ::fork();
    if (child == 0) {
        int status = 99;
        try {
            if (refuse())
                status = body();
        } catch (...) {
            status = 98;
        }
        ::_exit(status);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 97;
}

int where_uring_is_refused(int (*body)(), int error, unsigned above = 0) {
    return in_a_container(body, [=] { return refuse_uring(error, above); });
}

topology chosen_for(std::size_t workers, std::size_t workers_max = 0) {
    context_options o;
    o.workers = workers;
    o.workers_max = workers_max;
    return context(o).options().topology;
}

/// 0 if a context on what there is serves a client, and that is as expected.
int serve_on(backend_kind expected, topology how = topology::split, std::size_t workers = 1) {
    context_options o;
    o.workers = workers;
    o.reactor.topology = how;
    context ctx(o);
    if (ctx.backend() != expected)
        return 1;
    wired w = wire(ctx, [](connection c) -> task<void> { co_await echo(std::move(c)); });
    w.other.send("still here");
    w.other.shutdown_write();
    const bool answered = w.other.receive_all() == "still here";
    finish(w.routine);
    ctx.stop();
    return answered ? 0 : 2;
}

int serve_on_epoll() { return serve_on(backend_kind::epoll); }
int serve_on_io_uring() { return serve_on(backend_kind::io_uring); }

// Two descriptors for each worker with epoll, three with io_uring.
constexpr std::size_t many_workers = 10;
constexpr rlim_t descriptors_for_epoll = 2 * many_workers + 8;

int serve_many_workers_on_epoll() {
    return serve_on(backend_kind::epoll, topology::per_worker, many_workers);
}

bool leave_descriptors_for_epoll() {
    const int next = ::dup(STDERR_FILENO); // all below are taken
    ::close(next);
    const auto limit = static_cast<rlim_t>(next) + descriptors_for_epoll;
    const rlimit low{.rlim_cur = limit, .rlim_max = limit};
    return next >= 0 && ::setrlimit(RLIMIT_NOFILE, &low) == 0;
}

int start_or_fail() {
    try {
        context ctx(context_options{.workers = 2});
    } catch (const std::system_error&) {
    }
    return 0;
}

/// As somebody else who has no processes, if that may be.
bool allow_threads(rlim_t count) {
    constexpr uid_t nobody_else = 64'999;
    const rlimit low{.rlim_cur = count, .rlim_max = count};
    return ::setrlimit(RLIMIT_NPROC, &low) == 0 &&
           (::geteuid() != 0 || ::setresuid(nobody_else, nobody_else, nobody_else) == 0);
}

int insist_on_io_uring() {
    context_options o;
    o.reactor.backend = backend_kind::io_uring;
    try {
        context ctx(o);
        return 1;
    } catch (const std::exception& e) {
        return std::string_view(e.what()).find("seccomp") != std::string_view::npos ? 0 : 2;
    }
}

task<void> sleep_long() { co_await rota::sleep_for(24h); }

} // namespace

TEST_CASE("where io_uring is not to be had, epoll serves") {
    for (const int error : {EPERM, EACCES, ENOSYS, EINVAL, ENOMEM, EMFILE}) {
        CAPTURE(error);
        CHECK(where_uring_is_refused(serve_on_epoll, error) == 0);
    }
}

TEST_CASE("where a part of io_uring is not to be had, epoll serves") {
    for (const long call : {SYS_io_uring_enter, SYS_io_uring_register}) {
        CAPTURE(call);
        CHECK(in_a_container(serve_on_epoll, [=] { return refuse_call(call, EPERM); }) == 0);
    }
}

TEST_CASE("where there is memory for small rings only, they are small") {
    if (!has_io_uring())
        return;
    CHECK(where_uring_is_refused(serve_on_io_uring, ENOMEM, 16) == 0);
    // Half of 16 is too little to be of use.
    CHECK(where_uring_is_refused(serve_on_epoll, ENOMEM, 8) == 0);
}

TEST_CASE("where one ring is to be had but not all of them, epoll serves") {
    CHECK(in_a_container(serve_many_workers_on_epoll, leave_descriptors_for_epoll) == 0);
}

TEST_CASE("a context that cannot have all of its threads says so, and ends those it has") {
    for (rlim_t count = 1; count < 8; ++count) {
        CAPTURE(count);
        CHECK(in_a_container(start_or_fail, [=] { return allow_threads(count); }) == 0);
    }
}

TEST_CASE("where io_uring is forbidden, who insists on it is told why it is not to be had") {
    CHECK(where_uring_is_refused(insist_on_io_uring, EPERM) == 0);
}

TEST_CASE("impossible options are refused") {
    context_options o;
    o.workers = 1;
    SECTION("buffers that are no power of two") { o.reactor.receive_buffers = 100; }
    SECTION("no topology") { o.reactor.topology = static_cast<topology>(7); }
    SECTION("no backend") { o.reactor.backend = static_cast<backend_kind>(9); }
    SECTION("no buffers") { o.reactor.receive_buffers = 0; }
    SECTION("no routine in a batch") { o.batch_size = 0; }
    SECTION("nothing may be unread") { o.reactor.max_unread_bytes = 0; }
    SECTION("buffers without room") { o.reactor.receive_buffer_bytes = 0; }
    SECTION("too many workers") { o.workers = 257; }
    SECTION("more threads than there can be") { o.blocking_threads = 1'000'000; }
    SECTION("more buffers than memory") {
        o.reactor.receive_buffers = 32'768;
        o.reactor.receive_buffer_bytes = std::size_t{1} << 30;
    }
    CHECK_THROWS_AS(context(o), std::invalid_argument);
}

TEST_CASE("a stop ends what waits, closes every connection and leaves no descriptor") {
    const combination how = each_combination();
    const std::size_t before = open_descriptors();
    {
        context ctx(options_for(how));
        std::vector<wired> all;
        for (int i = 0; i < 20; ++i)
            all.push_back(
                wire(ctx, [](connection c) -> task<void> { co_await echo(std::move(c)); }));
        for (int i = 0; i < 20; ++i)
            ctx.workers().spawn(sleep_long());
        for (wired& w : all)
            w.other.send("x");
        for (wired& w : all)
            CHECK(w.other.receive_exactly(1) == "x");
        ctx.stop();
        for (wired& w : all)
            CHECK(w.routine->state() == rota::routine_state::stopped);
        CHECK(ctx.workers().routine_count() == 0);
        ctx.stop(); // again
    }
    {
        context ctx(options_for(how));
        constexpr auto try_it = [](context* own) -> task<bool> {
            try {
                own->stop();
            } catch (const std::logic_error&) {
                co_return true;
            }
            co_return false;
        };
        CHECK(ctx.block_on(try_it(&ctx)));
    }
    CHECK(open_descriptors() == before);
}

TEST_CASE("what was chosen can be asked") {
    const combination how = each_combination();
    context ctx(options_for(how));
    CHECK(ctx.backend() == how.backend);
    CHECK(ctx.options().topology == how.topology);
    CHECK(to_string(topology::split) == "split");
    CHECK(to_string(backend_kind::automatic) == "auto");
}

TEST_CASE("one worker on one core has no thread beside it, unless that is asked for") {
    if (rota::detail::usable_cores() > 1) {
        CHECK(chosen_for(1) == topology::split);
        CHECK(chosen_for(0) == topology::split);
    }
    std::thread([] {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(static_cast<unsigned>(::sched_getcpu()), &one);
        REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
        CHECK(chosen_for(1) == topology::per_worker);
        CHECK(chosen_for(0) == topology::per_worker);
        CHECK(chosen_for(2) == topology::split);
        CHECK(chosen_for(1, 4) == topology::split);
        context_options o;
        o.workers = 1;
        o.reactor.topology = topology::split;
        CHECK(context(o).options().topology == topology::split);
    }).join();
    CHECK(to_string(topology::automatic) == "auto");
}

TEST_CASE("workers come and go while connections are served") {
    context ctx(options_for(each_combination(), 2));
    const auto serve_one = [&ctx] {
        wired w = wire(ctx, [](connection c) -> task<void> { co_await echo(std::move(c)); });
        w.other.send("ping");
        w.other.shutdown_write();
        CHECK(w.other.receive_all() == "ping");
        finish(w.routine);
    };
    wired old = wire(ctx, [](connection c) -> task<void> { co_await echo(std::move(c)); });
    for (const std::size_t count : {4U, 1U, 3U, 1U, 2U}) {
        ctx.workers().set_workers(count);
        CHECK(ctx.workers().worker_count() == count);
        for (int i = 0; i < 8; ++i)
            serve_one();
        old.other.send("still ");
        CHECK(old.other.receive_exactly(6) == "still ");
    }
    old.other.shutdown_write();
    CHECK(old.other.receive_all().empty());
    finish(old.routine);
}

TEST_CASE("exit() on a thread of a static context's own ends the program, with words") {
    const std::string words = last_words([] {
        static context ctx(context_options{.workers = 1});
        ctx.block_on(rota::blocking([] { std::exit(0); }));
    });
    CHECK(words.find("exit()") != std::string::npos);
}
