// What every backend does alike when something is cancelled, full or short.

#include <cerrno>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <netinet/in.h>
#include <poll.h>

#include "backend_set_up.hpp"
#include "buffer_group.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;

TEST_CASE("a cancel ends each kind of operation, once") {
    in_use b(each_kind());
    auto [a, z] = tcp_pair();
    buffer_group group(0, 2, 64);
    const plain_listener l;
    watched_op& receive = b.add_receive(a.fd(), group);
    watched_op& client = b.add_poll(l.fd(), POLLIN);
    watched_op& poll = b.add_poll(z.fd(), POLLIN);
    for (watched_op* op : {&receive, &client, &poll})
        b.arm(*op);
    b.collect_now();
    for (watched_op* op : {&receive, &client, &poll}) {
        b.backend->cancel(*op);
        b.await_end(*op);
        CHECK(op->got == std::vector<result>{{-ECANCELED, 0}});
    }
    CHECK(b.collect_now() == 0);
    // And all of them can be armed again.
    for (watched_op* op : {&receive, &client, &poll})
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
    watched_op& ready = b.add_poll(a.fd(), POLLIN);
    watched_op& bad = b.add_poll(9999, POLLIN);
    // A Unix socket connects, or is refused, within the call.
    const peer socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const endpoint nobody = endpoint::unix_path("@rota-test-nobody-listens-here");
    watched_op& connecting = b.add(op_kind::connect, socket.fd());
    connecting.address = nobody.address();
    connecting.address_length = nobody.length();
    for (watched_op* op : {&ready, &bad, &connecting}) {
        b.arm(*op);
        b.backend->cancel(*op);
    }
    for (watched_op* op : {&ready, &bad, &connecting})
        b.await_end(*op);
    for (int i = 0; i < 3; ++i)
        b.collect_now();
    for (watched_op* op : {&ready, &bad, &connecting})
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
    for (watched_op& op : b.ops)
        b.await_end(op);
    for (watched_op& op : b.ops)
        b.arm(op);
    for (watched_op& op : b.ops) // all at once ready: completions come while there are still arms
        b.await_end(op);
    for (watched_op& op : b.ops)
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
