// A ring that nobody may enter any more, since a filter has come behind it.

#include <cerrno>
#include <chrono>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <poll.h>

#include "backend_set_up.hpp"
#include "logged.hpp"
#include "refuse_uring.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;

namespace {

/// Of the calling thread.
std::chrono::nanoseconds cpu_time() {
    timespec used{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

/// A filter holds for a thread for ever.
template <class Body>
void on_a_thread_of_its_own(Body body) {
    std::thread(body).join();
}

} // namespace

TEST_CASE("a ring that may not be entered any more is told of once, and not tried all the time") {
    if (!has_io_uring())
        return;
    const int error = GENERATE(EPERM, ENOSYS, ENOMEM);
    CAPTURE(error);
    const logged log;
    bool refused = false;
    std::chrono::nanoseconds used{};
    std::chrono::nanoseconds took{};
    const std::string told = "a thread can receive nothing any more";
    on_a_thread_of_its_own([&] {
        in_use b(backend_kind::io_uring);
        auto [a, z] = socket_pair();
        b.arm(b.add_poll(a.fd(), POLLIN));
        b.collect_now();
        refused = refuse_call(SYS_io_uring_enter, error);
        z.send("x");
        const auto cpu_before = cpu_time();
        const auto begun = std::chrono::steady_clock::now();
        const auto collect_for = [&b](std::chrono::milliseconds time) {
            const auto until = std::chrono::steady_clock::now() + time;
            while (std::chrono::steady_clock::now() < until)
                b.collect(until);
        };
        while (log.count(told) == 0 && std::chrono::steady_clock::now() < begun + 30s)
            collect_for(100ms);
        collect_for(200ms); // and not again
        used = cpu_time() - cpu_before;
        took = std::chrono::steady_clock::now() - begun;
    });
    REQUIRE(refused);
    CHECK(log.count(told) == 1);
    CHECK(3 * used < took); // which it was tried for
}

TEST_CASE("what a ring cannot send any more is sent without it") {
    if (!has_io_uring())
        return;
    const logged log;
    bool refused = false;
    std::string got;
    on_a_thread_of_its_own([&] {
        const auto writer = make_uring_write_backend(entries);
        auto [a, z] = socket_pair();
        refused = refuse_call(SYS_io_uring_enter, EPERM);
        char byte = 'x';
        iovec piece{.iov_base = &byte, .iov_len = 1};
        send_request one{};
        one.fd = a.fd();
        one.message.msg_iov = &piece;
        one.message.msg_iovlen = 1;
        std::vector<send_request> batch(2 * entries, one);
        writer->send(batch);
        for (send_request& r : batch) {
            if (r.result == -EAGAIN)
                writer->send({&r, 1});
            if (r.result != 1)
                got += '?';
        }
        got += z.receive_exactly(batch.size());
    });
    REQUIRE(refused);
    CHECK(got == std::string(2 * entries, 'x'));
    CHECK(log.count("sending goes on without a ring") == 1);
}
