// What every backend does alike.

#include <cerrno>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include "backend_set_up.hpp"
#include "buffer_group.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;

namespace {

std::string bytes_of(const buffer_group& group, const result& r) {
    REQUIRE((r.flags & completion_flags::buffer) != 0);
    return {group.data(static_cast<std::uint16_t>(r.flags >> completion_flags::buffer_shift)),
            static_cast<std::size_t>(r.value)};
}

} // namespace

TEST_CASE("a poll ends when the descriptor is ready, and can be armed again") {
    in_use b(each_kind());
    auto [a, z] = socket_pair();
    watched_op& op = b.add_poll(a.fd(), POLLIN);
    b.arm(op);
    CHECK(b.collect_now() == 0);
    z.send("x");
    b.await_end(op);
    CHECK(op.got == std::vector<result>{{POLLIN, 0}});
    b.arm(op);
    b.await_end(op);
    CHECK(op.got.size() == 2);
}

TEST_CASE("a descriptor's number may be another's after its poll has ended") {
    in_use b(each_kind());
    auto [a, z] = socket_pair();
    auto [c, d] = socket_pair();
    watched_op& op = b.add_poll(a.fd(), POLLIN);
    b.arm(op);
    z.send("x");
    b.await_end(op);
    REQUIRE(::dup3(c.fd(), a.fd(), O_CLOEXEC) == a.fd());
    b.arm(op);
    CHECK(b.collect_now() == 0);
    d.send("x");
    b.await_end(op);
    CHECK(op.got == std::vector<result>{{POLLIN, 0}, {POLLIN, 0}});
}

TEST_CASE("a poll for both directions ends with whichever is there") {
    in_use b(each_kind());
    auto [a, z] = socket_pair();
    watched_op& op = b.add_poll(a.fd(), POLLIN | POLLOUT);
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
    watched_op& in = b.add_poll(a.fd(), POLLIN);
    watched_op& out = b.add_poll(a.fd(), POLLOUT);
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
    watched_op& op = b.add_poll(a.fd(), POLLIN);
    b.arm(op);
    z.close();
    b.await_end(op);
    CHECK((op.got.back().value & POLLHUP) != 0);
    // Level-triggered readiness would make each wait return at once.
    CHECK(b.is_quiet());
}

TEST_CASE("what cannot be polled ends with an error") {
    in_use b(each_kind());
    watched_op& negative = b.add_poll(-1, POLLIN);
    watched_op& closed = b.add_poll(9999, POLLIN);
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
    watched_op& op = b.add_poll(file.fd(), POLLIN);
    b.arm(op);
    b.await_end(op);
    CHECK(op.got.back().value == POLLIN);
}

TEST_CASE("a receive goes on until the end of the stream") {
    in_use b(each_kind());
    auto [a, z] = tcp_pair();
    buffer_group group(0, 4, 64);
    watched_op& op = b.add_receive(a.fd(), group);
    b.arm(op);
    z.send("one");
    b.await_results(op, 1);
    z.send("two");
    b.await_results(op, 2);
    CHECK(bytes_of(group, op.got[0]) == "one");
    CHECK(bytes_of(group, op.got[1]) == "two");
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
    watched_op& op = b.add_receive(a.fd(), group);
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

namespace {

/// io_uring also as it is on kernels that cannot limit a receive which goes on by itself.
std::vector<std::unique_ptr<read_backend>> receiving_backends() {
    std::vector<std::unique_ptr<read_backend>> all;
    all.push_back(make_epoll_read_backend());
    if (has_io_uring()) {
        all.push_back(make_uring_read_backend(entries));
        all.push_back(make_uring_read_backend(entries, false));
    }
    return all;
}

} // namespace

TEST_CASE("a receive delivers no more than it has room for, whatever is there") {
    for (const std::uint32_t room : {1U, 63U, 64U, 65U, 200U, 256U, 1000U}) {
        for (std::unique_ptr<read_backend>& backend : receiving_backends()) {
            CAPTURE(room);
            in_use b(backend_kind::epoll, std::move(backend));
            auto [a, z] = tcp_pair();
            const std::string bytes = pattern(3000);
            z.send(bytes);
            buffer_group group(0, 32, 64);
            watched_op& op = b.add_receive(a.fd(), group, room);
            b.arm(op);
            std::string got;
            std::size_t seen = 0;
            b.await([&] {
                for (; seen < op.got.size(); ++seen)
                    got += bytes_of(group, op.got[seen]);
                return got.size() >= room;
            });
            CHECK(b.is_quiet());
            CHECK((op.got.back().flags & completion_flags::more) == 0);
            CHECK(got == bytes.substr(0, room));
            CHECK(op.room == 0);
            z.send("x"); // nor does it go on later
            CHECK(b.is_quiet());
            op.room = 1;
            b.arm(op);
            b.await_results(op, seen + 1);
            CHECK(bytes_of(group, op.got.back()) == bytes.substr(room, 1));
        }
    }
}

TEST_CASE("a reset ends a receive with an error") {
    in_use b(each_kind());
    auto [a, z] = tcp_pair();
    buffer_group group(0, 2, 64);
    watched_op& op = b.add_receive(a.fd(), group);
    b.arm(op);
    b.collect_now();
    z.reset();
    b.await_end(op);
    CHECK(op.got.back() == result{-ECONNRESET, 0});
}

TEST_CASE("a poll of a listening socket ends when a client waits, and when it is shut down") {
    in_use b(each_kind());
    for (const endpoint& at : {endpoint::ip("127.0.0.1", 0),
                               endpoint::unix_path("@rota-test-" + std::to_string(::getpid()))}) {
        CAPTURE(at.to_string());
        const plain_listener l(at);
        watched_op& op = b.add_poll(l.fd(), POLLIN);
        b.arm(op);
        CHECK(b.collect_now() == 0);
        const peer client(l.where());
        b.await_end(op);
        CHECK(op.got.back() == result{POLLIN, 0});
        b.arm(op); // it waits still
        b.await_end(op);
        CHECK(op.got.back() == result{POLLIN, 0});
        const peer other = l.accept();
        b.arm(op);
        CHECK(b.collect_now() == 0);
        ::shutdown(l.fd(), SHUT_RDWR);
        b.await_end(op);
        CHECK(op.got.back().value > 0);
    }
}

TEST_CASE("a connect ends with its outcome") {
    in_use b(each_kind());
    const plain_listener listening;
    const peer socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    watched_op& op = b.add(op_kind::connect, socket.fd());
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
    watched_op& refused = b.add(op_kind::connect, second.fd());
    refused.address = gone.address();
    refused.address_length = gone.length();
    b.arm(refused);
    b.await_end(refused);
    CHECK(refused.got == std::vector<result>{{-ECONNREFUSED, 0}});
}

TEST_CASE("a connect that another backend has begun goes on") {
    const backend_kind kind = each_kind();
    CAPTURE(kind);
    in_use first(kind);
    SECTION("and succeeds once there is room in the backlog") {
        // One waits to be accepted, and the kernel lets in one more.
        const plain_listener crowded(endpoint::ip("127.0.0.1", 0), 0);
        const peer in_front(crowded.where());
        const peer mine(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        watched_op& op = first.add(op_kind::connect, mine.fd());
        op.address = crowded.where().address();
        op.address_length = crowded.where().length();
        first.arm(op);
        first.collect_now();
        in_use next(kind);
        watched_op& again = next.add(op_kind::connect, mine.fd());
        again.address = op.address;
        again.address_length = op.address_length;
        again.carried_over = true;
        next.arm(again);
        next.collect_now();
        CHECK(again.got.empty());
        const peer accepted = crowded.accept();
        next.await_end(again);
        CHECK(again.got == std::vector<result>{{0, 0}});
        const peer other = crowded.accept();
        mine.send("x");
        CHECK(other.receive(1) == "x");
        first.backend->cancel(op);
        first.await_end(op);
    }
    SECTION("and says so when it has succeeded already") {
        const plain_listener open;
        const peer mine(open.where());
        watched_op& op = first.add(op_kind::connect, mine.fd());
        op.address = open.where().address();
        op.address_length = open.where().length();
        op.carried_over = true;
        first.arm(op);
        first.await_end(op);
        CHECK(op.got == std::vector<result>{{0, 0}});
    }
}
