// What every backend does alike.

#include "backend.hpp"

#include <array>
#include <cerrno>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include <rota/parker.hpp>
#include <rota/worker.hpp>

#include "buffer_group.hpp"
#include "operation.hpp"
#include "support.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;

namespace {

constexpr unsigned entries = 16;

std::vector<backend_kind> kinds() {
    std::vector<backend_kind> all{backend_kind::epoll};
    if (has_io_uring())
        all.push_back(backend_kind::io_uring);
    return all;
}

struct result {
    std::int32_t value;
    std::uint32_t flags;
    bool operator==(const result&) const = default;
};

struct test_op final : operation {
    test_op(op_kind k, rota::worker& w, int descriptor) : operation(k, w) { fd = descriptor; }
    void complete(std::int32_t, std::uint32_t) noexcept override {}
    std::vector<result> got;
    int ends = 0;
};

/// A backend in use, the operations handed to it, and what they got.
struct in_use {
    explicit in_use(backend_kind kind)
        : source(kernel_backends(kind, entries)), backend(source.make_read()),
          writer(source.make_write()) {
        backend->enter_thread();
    }
    ~in_use() {
        for (auto& op : ops)
            CHECK(op.ends <= op_arms[&op]);
    }
    test_op& add(op_kind k, int fd) { return ops.emplace_back(k, home, fd); }
    test_op& add_poll(int fd, std::uint32_t events) {
        test_op& op = add(op_kind::poll, fd);
        op.poll_events = events;
        return op;
    }
    void arm(test_op& op) {
        ++op_arms[&op];
        backend->arm(op);
    }
    std::size_t collect(std::chrono::steady_clock::time_point until) {
        std::array<op_completion, 256> out{};
        const std::size_t count = backend->wait(out, until);
        for (const op_completion& c : std::span(out).first(count)) {
            test_op& op = static_cast<test_op&>(*c.op);
            op.got.push_back({.value = c.result, .flags = c.flags});
            if ((c.flags & completion_flags::more) == 0)
                ++op.ends;
        }
        return count;
    }
    std::size_t collect_now() { return collect({}); }
    /// Until `op` has ended as often as it was armed.
    void await_end(test_op& op) {
        await([&] { return op.ends == op_arms[&op]; });
    }
    void await_results(test_op& op, std::size_t count) {
        await([&] { return op.got.size() >= count; });
    }
    template <class Condition>
    void await(Condition&& condition) {
        REQUIRE(becomes([&] {
            if (!condition())
                collect(std::chrono::steady_clock::now() + 100ms);
            return condition();
        }));
    }

    /// That nothing comes, and that a wait really waits; now and then it may return early, as when
    /// the kernel takes down a ring that this thread had before. Spinning would be thousands.
    bool is_quiet() {
        const auto until = std::chrono::steady_clock::now() + 20ms;
        int waits = 0;
        std::size_t count = 0;
        do {
            ++waits;
            count += collect(until);
        } while (std::chrono::steady_clock::now() < until);
        UNSCOPED_INFO(waits << " waits, " << count << " completions");
        return count == 0 && waits <= 200;
    }

    backend_source source;
    std::unique_ptr<read_backend> backend;
    std::unique_ptr<write_backend> writer;
    rota::worker home{0, rota::time_source::steady(), std::make_unique<rota::parker>()};
    std::deque<test_op> ops;
    std::map<const test_op*, int> op_arms;
};

std::pair<peer, peer> socket_pair() {
    int fds[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
    return {peer(fds[0]), peer(fds[1])};
}

std::pair<peer, peer> tcp_pair() {
    const plain_listener l;
    peer a(l.where());
    return {std::move(a), l.accept()};
}

backend_kind each_kind() { return GENERATE(from_range(kinds())); }

} // namespace

TEST_CASE("a cancel ends each kind of operation, once") {
    in_use b(each_kind());
    auto [a, z] = tcp_pair();
    buffer_group group(0, 2, 64);
    b.backend->attach(group);
    const peer l(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::listen(l.fd(), 1) == 0);
    b.backend->prepare_listener(l.fd());
    test_op& receive = b.add(op_kind::receive, a.fd());
    receive.group = &group;
    test_op& accept = b.add(op_kind::accept, l.fd());
    test_op& poll = b.add_poll(z.fd(), POLLIN);
    for (test_op* op : {&receive, &accept, &poll})
        b.arm(*op);
    b.collect_now();
    for (test_op* op : {&receive, &accept, &poll}) {
        b.backend->cancel(*op);
        b.await_end(*op);
        CHECK(op->got == std::vector<result>{{-ECANCELED, 0}});
    }
    CHECK(b.collect_now() == 0);
    // And all of them can be armed again.
    for (test_op* op : {&receive, &accept, &poll})
        b.arm(*op);
    a.send("x");
    b.await_end(poll);
    z.send("y");
    b.await_results(receive, 2);
}

TEST_CASE("what has ended but was not fetched is not ended again by a cancel") {
    in_use b(each_kind());
    auto [a, z] = socket_pair();
    z.send("x");
    test_op& ready = b.add_poll(a.fd(), POLLIN);
    test_op& bad = b.add_poll(9999, POLLIN);
    // A Unix socket connects, or is refused, within the call.
    const peer socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const endpoint nobody = endpoint::unix_path("@rota-test-nobody-listens-here");
    test_op& connecting = b.add(op_kind::connect, socket.fd());
    connecting.address = nobody.address();
    connecting.address_length = nobody.length();
    for (test_op* op : {&ready, &bad, &connecting}) {
        b.arm(*op);
        b.backend->cancel(*op);
    }
    for (test_op* op : {&ready, &bad, &connecting})
        b.await_end(*op);
    for (int i = 0; i < 3; ++i)
        b.collect_now();
    for (test_op* op : {&ready, &bad, &connecting})
        CHECK(op->got.size() == 1);
}

TEST_CASE("more operations than the ring has room for") {
    in_use b(each_kind());
    std::vector<std::pair<peer, peer>> pairs;
    for (int i = 0; i < 200; ++i) {
        pairs.push_back(socket_pair());
        b.arm(b.add_poll(pairs.back().first.fd(), POLLIN));
    }
    CHECK(b.collect_now() == 0);
    for (auto& [a, z] : pairs)
        z.send("x"); // more completions than the ring holds
    for (test_op& op : b.ops)
        b.await_end(op);
    for (test_op& op : b.ops)
        b.arm(op);
    for (test_op& op : b.ops) // all at once ready: completions come while there are still arms
        b.await_end(op);
    for (test_op& op : b.ops)
        CHECK(op.got == std::vector<result>{{POLLIN, 0}, {POLLIN, 0}});
}

TEST_CASE("a wake-up ends a wait, the one under way or the next") {
    in_use b(each_kind());
    b.backend->wake();
    b.backend->wake();
    constexpr auto never = std::chrono::steady_clock::time_point::max();
    CHECK(b.collect(never) == 0);
    for (int i = 0; i < 100; ++i) {
        std::thread other([&] { b.backend->wake(); });
        CHECK(b.collect(never) == 0);
        other.join();
    }
}

TEST_CASE("a wait lasts until its time, and not much longer") {
    in_use b(each_kind());
    for (const auto length : {0us, 300us, 1000us, 5000us}) {
        const auto until = std::chrono::steady_clock::now() + length;
        int waits = 0;
        do {
            CHECK(b.collect(until) == 0);
            ++waits;
        } while (std::chrono::steady_clock::now() < until);
        CHECK(waits <= 200);
    }
    CHECK(b.collect(std::chrono::steady_clock::now() - 1h) == 0);
}

TEST_CASE("sends say how much went out, and never wait") {
    in_use b(each_kind());
    auto [a, z] = socket_pair();
    std::string hello = "hello ";
    std::string world = "world";
    std::string much(1 << 22, 'm');
    std::vector<iovec> pieces{{hello.data(), hello.size()}, {world.data(), world.size()}};
    iovec large{much.data(), much.size()};
    std::vector<send_request> batch(3);
    batch[0].fd = a.fd();
    batch[0].message.msg_iov = pieces.data();
    batch[0].message.msg_iovlen = 2;
    for (std::size_t i : {1, 2}) {
        batch[i].fd = a.fd();
        batch[i].message.msg_iov = &large;
        batch[i].message.msg_iovlen = 1;
    }
    b.writer->send(std::span(batch).first(1));
    CHECK(batch[0].result == 11);
    CHECK(z.receive() == "hello world");
    b.writer->send(std::span(batch).subspan(1));
    CHECK(batch[1].result > 0);
    CHECK(batch[1].result < static_cast<std::int32_t>(much.size()));
    CHECK(batch[2].result == -EAGAIN);
    z.close();
    b.writer->send(std::span(batch).first(1));
    CHECK(batch[0].result == -EPIPE); // and no signal
    batch[0].fd = 9999;
    b.writer->send(std::span(batch).first(1));
    CHECK(batch[0].result == -EBADF);
}

TEST_CASE("a batch of sends may be larger than the ring") {
    in_use b(each_kind());
    auto [a, z] = socket_pair();
    const int room = 1 << 20;
    ::setsockopt(a.fd(), SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    std::vector<std::string> texts;
    std::vector<iovec> pieces;
    std::string expected;
    for (int i = 0; i < 1000; ++i) {
        texts.push_back(std::to_string(i) + ' ');
        expected += texts.back();
    }
    for (std::string& t : texts)
        pieces.push_back({t.data(), t.size()});
    std::vector<send_request> batch(1000);
    for (std::size_t i = 0; i < batch.size(); ++i) {
        batch[i].fd = a.fd();
        batch[i].message.msg_iov = &pieces[i];
        batch[i].message.msg_iovlen = 1;
    }
    std::string received;
    for (std::size_t i = 0; i < batch.size(); i += 500) { // as many as fit a socket for sure
        b.writer->send(std::span(batch).subspan(i, 500));
        while (received.size() < expected.size()) {
            pollfd ready{.fd = z.fd(), .events = POLLIN, .revents = 0};
            if (::poll(&ready, 1, 0) <= 0)
                break;
            received += z.receive();
        }
    }
    for (const send_request& r : batch)
        REQUIRE(r.result > 0);
    CHECK((received == expected));
}
