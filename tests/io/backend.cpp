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

std::string bytes_of(const buffer_group& group, const result& r) {
    REQUIRE((r.flags & completion_flags::buffer) != 0);
    return {group.data(static_cast<std::uint16_t>(r.flags >> completion_flags::buffer_shift)),
            static_cast<std::size_t>(r.value)};
}

backend_kind each_kind() { return GENERATE(from_range(kinds())); }

} // namespace

TEST_CASE("a poll ends when the descriptor is ready, and can be armed again") {
    in_use b(each_kind());
    auto [a, z] = socket_pair();
    test_op& op = b.add_poll(a.fd(), POLLIN);
    b.arm(op);
    CHECK(b.collect_now() == 0);
    z.send("x");
    b.await_end(op);
    CHECK(op.got == std::vector<result>{{POLLIN, 0}});
    b.arm(op);
    b.await_end(op);
    CHECK(op.got.size() == 2);
}

TEST_CASE("a poll for both directions ends with whichever is there") {
    in_use b(each_kind());
    auto [a, z] = socket_pair();
    test_op& op = b.add_poll(a.fd(), POLLIN | POLLOUT);
    b.arm(op);
    b.await_end(op);
    CHECK(op.got.back().value == POLLOUT);
    while (a.send_now(std::string(65536, 'x')) != 0) {
    }
    b.arm(op);
    CHECK(b.collect_now() == 0);
    z.send("x");
    b.await_end(op);
    CHECK(op.got.back().value == POLLIN);
}

TEST_CASE("one operation for each direction of a descriptor") {
    in_use b(each_kind());
    auto [a, z] = socket_pair();
    test_op& in = b.add_poll(a.fd(), POLLIN);
    test_op& out = b.add_poll(a.fd(), POLLOUT);
    b.arm(in);
    b.arm(out);
    b.await_end(out);
    CHECK(in.got.empty());
    z.send("x");
    b.await_end(in);
    CHECK(out.got == std::vector<result>{{POLLOUT, 0}});
    CHECK(in.got == std::vector<result>{{POLLIN, 0}});
}

TEST_CASE("a hang-up ends a poll, and then there is nothing more to report") {
    in_use b(each_kind());
    auto [a, z] = socket_pair();
    test_op& op = b.add_poll(a.fd(), POLLIN);
    b.arm(op);
    z.close();
    b.await_end(op);
    CHECK((op.got.back().value & POLLHUP) != 0);
    // Level-triggered readiness would make each wait return at once.
    CHECK(b.is_quiet());
}

TEST_CASE("what cannot be polled ends with an error") {
    in_use b(each_kind());
    test_op& negative = b.add_poll(-1, POLLIN);
    test_op& closed = b.add_poll(9999, POLLIN);
    b.arm(negative);
    b.arm(closed);
    b.await_end(negative);
    b.await_end(closed);
    CHECK(negative.got.back().value == -EBADF);
    CHECK(closed.got.back().value == -EBADF);
}

TEST_CASE("a regular file is always ready") {
    in_use b(each_kind());
    const peer file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    test_op& op = b.add_poll(file.fd(), POLLIN);
    b.arm(op);
    b.await_end(op);
    CHECK(op.got.back().value == POLLIN);
}

TEST_CASE("a receive goes on until the end of the stream") {
    in_use b(each_kind());
    auto [a, z] = tcp_pair();
    buffer_group group(0, 4, 64);
    b.backend->attach(group);
    test_op& op = b.add(op_kind::receive, a.fd());
    op.group = &group;
    b.arm(op);
    z.send("one");
    b.await_results(op, 1);
    z.send("two");
    b.await_results(op, 2);
    CHECK(bytes_of(group, op.got[0]) == "one");
    CHECK(bytes_of(group, op.got[1]) == "two");
    CHECK((op.got[1].flags & completion_flags::more) != 0);
    z.close();
    b.await_end(op);
    CHECK(op.got.back() == result{0, 0});
    // The end was seen: nothing more comes of it.
    CHECK(b.is_quiet());
}

TEST_CASE("a receive without a buffer ends with ENOBUFS, its bytes wait in the kernel") {
    in_use b(each_kind());
    auto [a, z] = tcp_pair();
    buffer_group group(0, 2, 4);
    b.backend->attach(group);
    test_op& op = b.add(op_kind::receive, a.fd());
    op.group = &group;
    b.arm(op);
    z.send("0123456789");
    b.await_end(op);
    REQUIRE(op.got.size() == 3);
    CHECK(bytes_of(group, op.got[0]) == "0123");
    CHECK(bytes_of(group, op.got[1]) == "4567");
    CHECK(op.got[2] == result{-ENOBUFS, 0});
    CHECK(b.is_quiet());
    group.give_back(0);
    group.publish();
    b.arm(op);
    b.await_results(op, 4);
    CHECK(bytes_of(group, op.got[3]) == "89");
}

TEST_CASE("a reset ends a receive with an error") {
    in_use b(each_kind());
    auto [a, z] = tcp_pair();
    buffer_group group(0, 2, 64);
    b.backend->attach(group);
    test_op& op = b.add(op_kind::receive, a.fd());
    op.group = &group;
    b.arm(op);
    b.collect_now();
    z.reset();
    b.await_end(op);
    CHECK(op.got.back() == result{-ECONNRESET, 0});
}

TEST_CASE("an accept goes on until the socket is shut down") {
    in_use b(each_kind());
    const peer l(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    REQUIRE(::listen(l.fd(), 64) == 0);
    REQUIRE(::getsockname(l.fd(), reinterpret_cast<sockaddr*>(&address), &length) == 0);
    const auto port = endpoint::from(reinterpret_cast<sockaddr*>(&address), length).port();
    b.backend->prepare_listener(l.fd());
    test_op& op = b.add(op_kind::accept, l.fd());
    b.arm(op);
    std::vector<peer> clients;
    std::vector<peer> taken;
    for (int i = 0; i < 20; ++i)
        clients.emplace_back(endpoint::ip("127.0.0.1", port));
    b.await_results(op, 20);
    for (const result& r : op.got) {
        REQUIRE(r.value >= 0);
        CHECK(r.flags == completion_flags::more);
        taken.emplace_back(static_cast<int>(r.value));
        CHECK((::fcntl(r.value, F_GETFD) & FD_CLOEXEC) != 0);
    }
    ::shutdown(l.fd(), SHUT_RDWR);
    b.await_end(op);
    CHECK(op.got.back().value == -EINVAL);
}

TEST_CASE("a connect ends with its outcome") {
    in_use b(each_kind());
    const plain_listener listening;
    const peer socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    test_op& op = b.add(op_kind::connect, socket.fd());
    op.address = listening.where().address();
    op.address_length = listening.where().length();
    b.arm(op);
    b.await_end(op);
    CHECK(op.got == std::vector<result>{{0, 0}});
    const peer other = listening.accept();
    other.send("x");
    CHECK(socket.receive() == "x");

    endpoint gone;
    {
        const plain_listener short_lived;
        gone = short_lived.where();
    }
    const peer second(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    test_op& refused = b.add(op_kind::connect, second.fd());
    refused.address = gone.address();
    refused.address_length = gone.length();
    b.arm(refused);
    b.await_end(refused);
    CHECK(refused.got == std::vector<result>{{-ECONNREFUSED, 0}});
}
