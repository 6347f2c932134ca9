#include <rota/io/listener.hpp>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "bind_failure.hpp"
#include "support.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;
using rota::task;

namespace {

/// Listens, tells where, accepts `count` clients and sends each a greeting.
task<void> greet(context* ctx, endpoint at, listen_options options, int count,
                 std::promise<endpoint>* where) {
    rota::routine& self = co_await rota::current_routine;
    listener l(*ctx, self.home(), at, options);
    where->set_value(l.local());
    for (int i = 0; i < count; ++i) {
        accepted_socket s = co_await l.accept();
        connection c = adopt(*ctx, std::move(s), rota::assignment(self.home()));
        co_await c.write("hello");
    }
}

struct greeting {
    greeting(context& ctx, const endpoint& at, int count, listen_options options = {})
        : routine(ctx.workers().spawn(greet(&ctx, at, options, count, &told),
                                      {.name = "greeting", .report_errors = false})),
          where(told.get_future().get()) {}
    std::promise<endpoint> told;
    rota::routine_ptr routine;
    endpoint where;
};

/// How many descriptors of this process are of that directory.
std::size_t times_open(const std::string& path) {
    const std::filesystem::path wanted = std::filesystem::canonical(path);
    std::size_t count = 0;
    std::error_code gone; // one that was closed meanwhile
    for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd"))
        count += std::filesystem::read_symlink(each.path(), gone) == wanted ? 1 : 0;
    return count;
}

/// What listening there throws.
std::string error_of_listen(context& ctx, const endpoint& at, int* code = nullptr) {
    constexpr auto try_it = [](context* c, endpoint where, int* error) -> task<std::string> {
        rota::routine& self = co_await rota::current_routine;
        try {
            const listener l(*c, self.home(), where);
            co_return std::string();
        } catch (const std::system_error& e) {
            *error = e.code().value();
            co_return std::string(e.what());
        }
    };
    int ignored = 0;
    return ctx.block_on(try_it(&ctx, at, code != nullptr ? code : &ignored));
}

struct temporary_folder {
    temporary_folder() {
        std::string name = std::filesystem::temp_directory_path() / "rota-XXXXXX";
        if (::mkdtemp(name.data()) == nullptr)
            throw std::system_error(errno, std::system_category(), "mkdtemp");
        path = name;
    }
    ~temporary_folder() { std::filesystem::remove_all(path); }
    [[nodiscard]] endpoint socket() const { return endpoint::unix_path((path / "s").string()); }
    std::filesystem::path path;
};

bool has_ipv6() {
    const peer p(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const endpoint any = endpoint::ip("::1", 0);
    return ::bind(p.fd(), any.address(), any.length()) == 0;
}

} // namespace

TEST_CASE("clients of every family are accepted") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    const temporary_folder folder;
    std::vector<endpoint> all{endpoint::ip("127.0.0.1", 0), folder.socket(),
                              endpoint::unix_path("@rota-test-" + std::to_string(::getpid()))};
    if (has_ipv6())
        all.push_back(endpoint::ip("::1", 0));
    for (const endpoint& at : all) {
        CAPTURE(at.to_string());
        const greeting g(ctx, at, 2);
        CHECK((at.family() == AF_UNIX || g.where.port() != 0));
        CHECK(peer(g.where).receive_all() == "hello");
        CHECK(peer(g.where).receive_all() == "hello");
        finish(g.routine);
    }
    CHECK(!std::filesystem::exists(folder.path / "s"));
}

TEST_CASE("an IPv6 socket takes IPv4 clients unless it is told not to") {
    if (!has_ipv6())
        SKIP("no IPv6 here");
    const combination how = each_combination();
    context ctx(options_for(how));
    const greeting both(ctx, endpoint::ip("*", 0), 1);
    CHECK(peer(endpoint::ip("127.0.0.1", both.where.port())).receive_all() == "hello");
    finish(both.routine);
    const greeting only(ctx, endpoint::ip("::", 0), 1, {.ipv6_only = true});
    peer v4(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    CHECK(v4.try_connect(endpoint::ip("127.0.0.1", only.where.port())) == ECONNREFUSED);
    CHECK(peer(endpoint::ip("::1", only.where.port())).receive_all() == "hello");
    finish(only.routine);
}

TEST_CASE("an address in use is refused by name, unless the port is shared") {
    const combination how = each_combination();
    context ctx(options_for(how));
    const greeting first(ctx, endpoint::ip("127.0.0.1", 0), 1, {.reuse_port = true});
    int code = 0;
    const std::string text = error_of_listen(ctx, first.where, &code);
    CHECK(code == EADDRINUSE);
    CHECK(text.find(first.where.to_string()) != std::string::npos);
    const greeting second(ctx, first.where, 1, {.reuse_port = true});
    // The kernel picks one of the two for each client.
    for (int i = 0; i < 1000 && (first.routine->state() != rota::routine_state::stopped ||
                                 second.routine->state() != rota::routine_state::stopped);
         ++i) {
        peer p(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        static_cast<void>(p.try_connect(first.where));
        if (p.receive_error() != 0)
            continue;
    }
    finish(first.routine);
    finish(second.routine);
}

TEST_CASE("an address that cannot be had is refused with what to do about it") {
    context ctx(options_for(each_combination()));
    const auto refused = [&](const endpoint& at) {
        std::promise<endpoint> where;
        try {
            ctx.block_on(greet(&ctx, at, {}, 0, &where));
        } catch (const std::system_error& e) {
            return std::string(e.what());
        }
        return std::string();
    };
    const auto says = [&](const endpoint& at, const std::string& what) {
        return refused(at).find(what) != std::string::npos;
    };
    CHECK(says("[fe80::1]:0", "a link-local address needs a scope: [fe80::1%eth0]:8080"));
    CHECK(says(endpoint(), "the endpoint is empty"));
    CHECK(says("unix:/proc/x.sock", "no socket can be made in its directory"));
    CHECK(says("unix:/nowhere/x.sock", "make its directory first"));
}

TEST_CASE("options reach the accepted sockets") {
    const combination how = each_combination();
    context ctx(options_for(how));
    constexpr auto look = [](context* c, bool no_delay,
                             std::promise<endpoint>* where) -> task<int> {
        rota::routine& self = co_await rota::current_routine;
        const listen_options options{.no_delay = no_delay};
        listener l(*c, self.home(), endpoint::ip("127.0.0.1", 0), options);
        where->set_value(l.local());
        const accepted_socket s = co_await l.accept();
        int value = -1;
        socklen_t length = sizeof value;
        ::getsockopt(s.get(), IPPROTO_TCP, TCP_NODELAY, &value, &length);
        int unsent = -1;
        ::getsockopt(s.get(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, &length);
        expect(unsent == 128 << 10, "a bound for what is unsent"); // docs/promises.md
        expect((::fcntl(s.get(), F_GETFD) & FD_CLOEXEC) != 0, "closed on exec");
        co_return value;
    };
    for (const bool no_delay : {true, false}) {
        std::promise<endpoint> where;
        std::thread client([&] { const peer p(where.get_future().get()); });
        CHECK((ctx.block_on(look(&ctx, no_delay, &where)) != 0) == no_delay);
        client.join();
    }
}

TEST_CASE("a Unix socket that nobody listens on is replaced") {
    const combination how = each_combination();
    context ctx(options_for(how));
    const temporary_folder folder;
    const endpoint at = folder.socket();
    {
        const peer left_over(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        REQUIRE(::bind(left_over.fd(), at.address(), at.length()) == 0);
    }
    REQUIRE(std::filesystem::exists(at.file_path()));
    const greeting g(ctx, at, 1);
    CHECK(peer(at).receive_all() == "hello");
    finish(g.routine);
    CHECK(!std::filesystem::exists(at.file_path()));
}

TEST_CASE("a Unix socket that a program listens on is left alone, even if it does not answer") {
    const combination how = each_combination();
    context ctx(options_for(how));
    const temporary_folder folder;
    const endpoint at = folder.socket();
    const plain_listener live(at, 0);
    std::vector<peer> waiting; // until its backlog is full, where a connect would wait
    for (int i = 0; i < 4; ++i) {
        waiting.emplace_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        static_cast<void>(waiting.back().try_connect(at));
    }
    int code = 0;
    CHECK(error_of_listen(ctx, at, &code).find(at.to_string()) != std::string::npos);
    CHECK(code == EADDRINUSE);
    CHECK(std::filesystem::exists(at.file_path()));
}

TEST_CASE("a Unix socket whose server is about to listen is not taken for left over") {
    const combination how = each_combination();
    context ctx(options_for(how));
    const temporary_folder folder;
    const endpoint at = folder.socket();
    const peer directory(::open(folder.path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(::flock(directory.fd(), LOCK_EX) == 0); // as a listener has it meanwhile
    const peer other(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::bind(other.fd(), at.address(), at.length()) == 0);
    int code = 0;
    std::atomic<bool> over = false;
    std::thread later([&] {
        error_of_listen(ctx, at, &code);
        over = true;
    });
    while (times_open(folder.path) < 2 && !over) // until it waits for the lock
        std::this_thread::yield();
    const bool listens = ::listen(other.fd(), 1) == 0;
    ::flock(directory.fd(), LOCK_UN);
    later.join();
    CHECK(listens);
    CHECK(code == EADDRINUSE);
    const peer client(at);
    CHECK(std::filesystem::exists(at.file_path()));
}

TEST_CASE("a lock of the directory that another program keeps is no obstacle for long") {
    context ctx(options_for({backend_kind::epoll, topology::split}));
    const temporary_folder folder;
    const peer directory(::open(folder.path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(::flock(directory.fd(), LOCK_EX) == 0);
    CHECK(error_of_listen(ctx, folder.socket()).empty());
}

TEST_CASE("a file that is no socket is not touched") {
    const combination how = each_combination();
    context ctx(options_for(how));
    const temporary_folder folder;
    std::ofstream(folder.path / "s") << "precious";
    int code = 0;
    error_of_listen(ctx, folder.socket(), &code);
    CHECK(code == EADDRINUSE);
    CHECK(std::filesystem::file_size(folder.path / "s") == 8);
}

TEST_CASE("the socket file of a successor is not removed") {
    const combination how = each_combination();
    context ctx(options_for(how));
    const temporary_folder folder;
    const endpoint at = folder.socket();
    {
        const greeting g(ctx, at, 1);
        std::filesystem::remove(at.file_path()); // as an administrator might
        const plain_listener successor(at);
        g.routine->request_stop();
        g.routine->wait_stopped();
        CHECK(std::filesystem::exists(at.file_path()));
    }
}

TEST_CASE("after close() those that were let in can still be had, new ones are refused") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    const std::size_t before = open_descriptors();
    constexpr int count = 150; // more than the kernel's accept runs ahead
    constexpr auto take = [](context* c, std::promise<endpoint>* where,
                             std::promise<void>* connected) -> task<int> {
        rota::routine& self = co_await rota::current_routine;
        listener l(*c, self.home(), endpoint::ip("127.0.0.1", 0));
        where->set_value(l.local());
        connected->get_future().wait(); // keeps the worker from looking meanwhile
        l.close();
        l.close();
        int taken = 0;
        try {
            for (;; ++taken)
                const accepted_socket s = co_await l.accept();
        } catch (const std::system_error& e) {
            expect(e.code().value() == ECANCELED, "closed");
        }
        co_return taken;
    };
    for (int round = 0; round < 10; ++round) {
        std::promise<endpoint> where;
        std::promise<void> connected;
        std::thread clients([&] {
            const endpoint at = where.get_future().get();
            std::vector<peer> all;
            for (int i = 0; i < count; ++i)
                all.emplace_back(at);
            connected.set_value();
            for (const peer& p : all)
                static_cast<void>(p.receive_error());
            peer late(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
            if (late.try_connect(at) != ECONNREFUSED)
                std::abort();
        });
        const int taken = ctx.block_on(take(&ctx, &where, &connected));
        clients.join();
        REQUIRE(taken == count);
    }
    CHECK(becomes([&] { return open_descriptors() == before; }));
}

TEST_CASE("a wait in accept() can be cancelled, and ends with the listener's close") {
    const combination how = each_combination();
    context ctx(options_for(how));
    const greeting g(ctx, endpoint::ip("127.0.0.1", 0), 2);
    CHECK(peer(g.where).receive_all() == "hello");
    await_blocked(ctx, "greeting", "listener::accept");
    g.routine->request_stop();
    g.routine->wait_stopped();
    CHECK(g.routine->error() == nullptr);
    peer late(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    CHECK(late.try_connect(g.where) == ECONNREFUSED);
}

TEST_CASE("clients that nobody took are closed with the listener") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    const std::size_t before = open_descriptors();
    for (int round = 0; round < 20; ++round) {
        std::vector<peer> all;
        {
            const greeting g(ctx, endpoint::ip("127.0.0.1", 0), 1);
            for (int i = 0; i < 80; ++i) {
                peer p(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
                if (p.try_connect(g.where) == 0) // it ends after the first
                    all.push_back(std::move(p));
            }
            finish(g.routine);
        }
        for (const peer& p : all) {
            // The kernel may forget, without a word, one whose handshake ended in the moment of the
            // close; it resets it when it speaks.
            p.send_now("x");
            static_cast<void>(p.receive_error()); // ends, one way or the other
        }
        all.clear();
    }
    CHECK(becomes([&] { return open_descriptors() == before; }));
}

TEST_CASE("a port that is not for root is not what a refusal is put down to") {
    const auto says = [](const char* where, const char* what) {
        try {
            errno = EPERM;
            throw_bind_failure(endpoint::parse(where), "listen on", SOCK_STREAM);
        } catch (const std::system_error& e) {
            INFO(e.what());
            return std::string(e.what()).find(what) != std::string::npos;
        }
        return false;
    };
    CHECK(says("127.0.0.1:80", "ports below 1024 are for root"));
    for (const char* where : {"127.0.0.1:0", "127.0.0.1:1024"})
        CHECK(says(where, "a seccomp filter or a security module forbids it"));
}
