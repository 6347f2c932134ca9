// What the backend of epoll does when the kernel refuses a change.

#include <cerrno>
#include <system_error>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "backend_set_up.hpp"
#include "buffer_group.hpp"
#include "failing_epoll.hpp"

using namespace rota::io;
using namespace rota::io::test;

TEST_CASE("a backend that nobody could wake is not made") {
    const failing_epoll failing(0);
    CHECK_THROWS_AS(kernel_backends(backend_kind::epoll, entries).make_read(), std::system_error);
    CHECK(failing.has_failed());
}

TEST_CASE("a poll that could not be armed, or armed anew, ends, and can be armed again") {
    const bool anew = GENERATE(false, true);
    CAPTURE(anew);
    in_use b(backend_kind::epoll);
    auto [a, z] = socket_pair();
    watched_op& op = b.add_poll(a.fd(), POLLIN);
    z.send("x");
    std::vector<result> want{{-ENOMEM, 0}, {POLLIN, 0}};
    if (anew) {
        b.arm(op);
        b.await_end(op);
        want.insert(want.begin(), {POLLIN, 0});
    }
    {
        const failing_epoll failing(0);
        b.arm(op);
        b.await_end(op);
        REQUIRE(failing.has_failed());
    }
    b.arm(op);
    b.await_end(op);
    CHECK(op.got == want);
}

TEST_CASE("what could not be taken out is not reported for ever, and can be armed again") {
    const bool by_another = GENERATE(false, true); // the descriptor's number is another's meanwhile
    CAPTURE(by_another);
    in_use b(backend_kind::epoll);
    auto [a, z] = tcp_pair();
    auto [c, d] = tcp_pair();
    buffer_group group(0, 4, 64);
    watched_op& op = b.add_receive(a.fd(), group);
    b.arm(op);
    {
        const failing_epoll failing(0);
        b.backend->cancel(op);
        b.await_end(op);
        REQUIRE(failing.has_failed());
    }
    if (by_another) {
        REQUIRE(::dup3(c.fd(), a.fd(), O_CLOEXEC) == a.fd());
    } else {
        z.send("x");
        CHECK(b.is_quiet());
    }
    b.arm(op);
    if (by_another)
        d.send("x");
    b.await_results(op, 2);
    CHECK(op.got.back().value == 1);
}
