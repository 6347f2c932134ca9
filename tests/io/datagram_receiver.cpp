// Datagrams that are received: what the kernel has gathered, and what goes wrong.

#include "datagram_receiver.hpp"

#include <cerrno>
#include <chrono>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <netinet/in.h>
#include <netinet/udp.h>

#include "datagram_peer.hpp"
#include "datagram_sender.hpp"
#include "failing_datagrams.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;
using rota::task;

TEST_CASE("rows that the kernel has gathered are taken apart") {
    const datagram_peer to;
    const int yes = 1;
    if (::setsockopt(to.fd(), SOL_UDP, UDP_GRO, &yes, sizeof yes) != 0)
        SKIP("this kernel has no UDP_GRO");
    const datagram_peer from;
    datagram_sender sender(131'072);
    std::vector<std::string> sent;
    for (const int size : {1000, 1000, 1000, 400, 0, 3, 3, 3, 3, 2, 60'000}) {
        sent.push_back(pattern(static_cast<std::size_t>(size)));
        REQUIRE(sender.add(to.where(), sent.back()));
    }
    REQUIRE(sender.push(from.fd()));
    datagram_receiver receiver({.coalesced = true});
    std::vector<std::string> got;
    int calls = 0;
    while (got.size() < sent.size()) {
        const int count = receiver.receive(to.fd());
        REQUIRE(count > 0);
        CHECK(static_cast<std::size_t>(count) == receiver.batch().size());
        ++calls;
        for (const datagram& d : receiver.batch()) {
            CHECK(!d.truncated());
            CHECK(d.from().to_string() == from.where().to_string());
            got.emplace_back(d.bytes());
        }
    }
    CHECK(got == sent);
    CHECK(calls <= 2); // messages: 4 a call
    CHECK(receiver.received() == sent.size());
    CHECK(receiver.receive(to.fd()) == 0);
    CHECK(receiver.batch().size() == 0);
}

TEST_CASE("what the network says is skipped and counted, an interruption is not seen") {
    const datagram_peer to;
    const datagram_peer from;
    from.send(to.where(), "x");
    datagram_receiver receiver({});
    const failing_datagrams errors({ECONNREFUSED, EINTR, EHOSTUNREACH});
    CHECK(receiver.receive(to.fd()) == 1);
    CHECK(receiver.batch().front().bytes() == "x");
    CHECK(receiver.refused() == 2);
}

TEST_CASE("a shortage in the kernel is waited out, any other failure is told") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    const failing_datagrams errors({ENOMEM, ENOBUFS, EBADF});
    const bound_routine r(ctx, [&](datagram_socket socket) -> task<void> {
        int error = 0;
        try {
            co_await socket.receive();
        } catch (const std::system_error& e) {
            error = e.code().value();
        }
        expect(error == EBADF && errors.all_failed(), "the last of them");
        const auto batch = co_await socket.receive();
        expect(batch->front().bytes() == "x", "nothing is lost");
    });
    const datagram_peer p;
    p.send(r.where, "x");
    finish(r.routine);
}

TEST_CASE("what the kernel had no room for is counted") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    constexpr std::uint64_t count = 1000;
    std::promise<void> sent;
    std::future<void> is_sent = sent.get_future();
    const bound_routine r(ctx,
                          [&](datagram_socket socket) -> task<void> {
                              is_sent.wait();
                              socket.drain();
                              while (auto batch = co_await socket.receive())
                                  expect(batch->size() <= 5, "a batch is bounded");
                              const datagram_counts all = socket.counts();
                              expect(all.missed > 0 && all.received > 0 &&
                                         all.missed + all.received == count,
                                     "all are accounted for");
                          },
                          {.batch_max = 5, .kernel_bytes = 10'000});
    const datagram_peer p;
    for (std::uint64_t i = 0; i < count; ++i)
        p.send(r.where, "x");
    sent.set_value();
    finish(r.routine);
}
