// What a listener does when something runs short or goes wrong: listener.hpp.

#include <atomic>
#include <cerrno>
#include <future>
#include <initializer_list>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <sys/resource.h>

#include <rota/io/listener.hpp>
#include <rota/io/server.hpp>

#include "failing_accept.hpp"
#include "faulty_backend.hpp"
#include "logged.hpp"
#include "support.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;
using rota::task;

namespace {

/// Accepts for ever, sends each client a greeting and closes.
task<void> greet_all(context* ctx, std::promise<endpoint>* where) {
    rota::routine& self = co_await rota::current_routine;
    listener l(*ctx, self.home(), endpoint::ip("127.0.0.1", 0));
    where->set_value(l.local());
    for (;;) {
        accepted_socket s = co_await l.accept();
        connection c = adopt(*ctx, std::move(s), rota::assignment(self.home()));
        co_await c.write("hello");
    }
}

struct greeter {
    explicit greeter(combination how, std::initializer_list<int> poll_errors = {})
        : broken(with_errors(poll_errors)),
          ctx(options_for(how, 1), faulty(how.backend, 256, broken)),
          routine(ctx.workers().spawn(greet_all(&ctx, &told), {.name = "greeter"})),
          where(told.get_future().get()) {}
    ~greeter() { ctx.stop(); }
    static std::shared_ptr<faults> with_errors(std::initializer_list<int> poll_errors) {
        auto f = std::make_shared<faults>();
        f->poll_errors = poll_errors;
        return f;
    }

    std::shared_ptr<faults> broken;
    std::promise<endpoint> told;
    context ctx;
    rota::routine_ptr routine;
    endpoint where;
};

/// Closes a listener for which so many clients wait; how many it accepts then.
task<std::size_t> accept_after_close(context* ctx, std::size_t waiting, deadline until = {}) {
    rota::routine& self = co_await rota::current_routine;
    listener l(*ctx, self.home(), endpoint::ip("127.0.0.1", 0));
    const endpoint where = l.local();
    std::vector<peer> clients;
    for (std::size_t i = 0; i < waiting; ++i)
        clients.emplace_back(where);
    l.close();
    std::size_t taken = 0;
    try {
        for (;; ++taken)
            const accepted_socket s = co_await l.accept(until);
    } catch (const rota::timed_out&) {
        throw;
    } catch (const std::system_error& e) {
        expect(e.code().value() == ECANCELED, "closed");
    }
    peer late(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    expect(late.try_connect(where) == ECONNREFUSED, "refused");
    co_return taken;
}

/// Few descriptors for this process.
class few_descriptors {
public:
    few_descriptors() {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        const peer highest(::dup(0));
        rlimit low = before_;
        low.rlim_cur = static_cast<rlim_t>(highest.fd()) + 200;
        ::setrlimit(RLIMIT_NOFILE, &low);
    }
    ~few_descriptors() {
        ::setrlimit(RLIMIT_NOFILE, &before_);
        release();
    }
    void take_all() {
        for (int fd = ::dup(0); fd >= 0; fd = ::dup(0))
            held_.push_back(fd);
    }
    void release() {
        for (const int fd : held_)
            ::close(fd);
        held_.clear();
    }

private:
    rlimit before_{};
    std::vector<int> held_;
};

} // namespace

TEST_CASE("out of descriptors: accepting pauses, and goes on when there are some") {
    const combination how = each_combination();
    CAPTURE(how);
    few_descriptors few;
    const failing_accept accepts({});
    greeter g(how);
    CHECK(peer(g.where).receive_all() == "hello");
    const std::size_t before = open_descriptors();
    std::vector<peer> clients;
    for (int i = 0; i < 30; ++i)
        clients.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    few.take_all();
    for (peer& p : clients)
        REQUIRE(p.try_connect(g.where) == 0); // into the backlog
    // It asks again and again, but with a pause of 50 ms each time.
    const int first = accepts.failures();
    const auto start = std::chrono::steady_clock::now();
    CHECK(becomes([&] { return accepts.failures() >= first + 4; }));
    CHECK(std::chrono::steady_clock::now() - start >= 100ms);
    few.release();
    for (const peer& p : clients)
        CHECK(p.receive_all() == "hello"); // none was dropped
    clients.clear();
    CHECK(becomes([&] { return open_descriptors() <= before; }));
}

TEST_CASE("a shortage, or an error nobody has heard of, pauses the accepting; no client is lost") {
    const combination how = each_combination();
    CAPTURE(how);
    for (const int error : {EMFILE, ENFILE, ENOBUFS, ENOMEM, EINVAL, EIO}) {
        CAPTURE(error);
        const logged log;
        {
            const auto start = std::chrono::steady_clock::now();
            const failing_accept accepts({error, error, error});
            greeter g(how);
            std::vector<peer> clients;
            for (int i = 0; i < 10; ++i)
                clients.emplace_back(g.where);
            for (const peer& p : clients)
                CHECK(p.receive_all() == "hello");
            CHECK(std::chrono::steady_clock::now() - start >= 150ms);
            // For each client one that finds it, and one at most that finds nobody.
            CHECK(accepts.calls() <= 3 + 2 * 10 + 1);
        }
        CHECK(log.count("trying again") == 1);
    }
}

TEST_CASE("an error of one client is that client's (man 2 accept)") {
    const combination how = each_combination();
    CAPTURE(how);
    const logged log;
    {
        const failing_accept accepts(
            {ECONNABORTED, EPROTO, EPERM, EHOSTUNREACH, ENETDOWN, EINTR, EAGAIN, ETIMEDOUT});
        greeter g(how);
        CHECK(peer(g.where).receive_all() == "hello");
        CHECK(accepts.all_failed());
    }
    CHECK(log.count("trying again") == 0); // none was a reason to pause
}

TEST_CASE("an error that is one client's and stays for all pauses the accepting, too") {
    const combination how = each_combination();
    CAPTURE(how);
    const logged log;
    {
        const failing_accept accepts(std::vector<int>(40, EPERM));
        const greeter g(how);
        CHECK(peer(g.where).receive_all() == "hello");
        CHECK(accepts.all_failed());
    }
    CHECK(log.count("trying again") == 1);
}

TEST_CASE("a listener that cannot be watched is tried again, after a pause each time") {
    const combination how = each_combination();
    CAPTURE(how);
    const auto start = std::chrono::steady_clock::now();
    greeter g(how, {ENOMEM, ENOMEM, ENOMEM});
    CHECK(becomes([&] { return g.broken->arms_of(op_kind::poll) >= 4; }));
    CHECK(std::chrono::steady_clock::now() - start >= 150ms);
    CHECK(peer(g.where).receive_all() == "hello");
}

TEST_CASE("a listener may be closed while it pauses") {
    const combination how = each_combination();
    CAPTURE(how);
    for (int round = 0; round < 20; ++round) {
        const failing_accept accepts({EMFILE, EMFILE, EMFILE});
        greeter g(how);
        CHECK(becomes([&] { return accepts.calls() >= 1; }));
        g.routine->request_stop();
        g.routine->wait_stopped();
        peer late(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        CHECK(late.try_connect(g.where) == ECONNREFUSED);
    }
}

TEST_CASE("after close() those for whom there was no descriptor are accepted once there is one") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    const logged log;
    for (const int error : {EMFILE, ENFILE, ENOBUFS, ENOMEM}) {
        for (const std::size_t first : {0, 7}) { // there is room for these
            CAPTURE(error, first);
            std::vector<int> errors(first, 0);
            errors.insert(errors.end(), {error, error, error});
            const failing_accept accepts(errors);
            CHECK(ctx.block_on(accept_after_close(&ctx, 20)) == 20);
            CHECK(accepts.all_failed());
        }
    }
    CHECK(log.count("turned away") == 0);
}

TEST_CASE("a listener that is closed does not wait for descriptors that nobody needs") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    const failing_accept accepts(std::vector<int>(100, EMFILE));
    CHECK(ctx.block_on(accept_after_close(&ctx, 0)) == 0);
    CHECK(accepts.calls() == 1);
}

TEST_CASE("clients for whom there was no descriptor to the end are in the log") {
    const combination how = each_combination();
    CAPTURE(how);
    const logged log;
    {
        context ctx(options_for(how));
        const failing_accept accepts(std::vector<int>(1'000, EMFILE));
        CHECK_THROWS_AS(ctx.block_on(accept_after_close(&ctx, 1, deadline(50ms))), rota::timed_out);
    }
    CHECK(log.count("turned away") == 1);
}

TEST_CASE("nobody waits for a server that has no descriptor for signals") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    server s(ctx, [](connection) -> task<void> { co_return; },
             {.listen = {endpoint::ip("127.0.0.1", 0)}});
    {
        few_descriptors limited;
        limited.take_all();
        CHECK_THROWS_AS(run_until_signalled(ctx, s), std::system_error);
    }
    CHECK(s.listening().empty());
}
