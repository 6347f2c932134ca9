// Shared bytes among what an output has queued, over a kernel that does what its script says.

#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/io/shared_bytes.hpp>

#include "output_driver.hpp"
#include "support.hpp"
#include "temporary_file.hpp"
#include "watched.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;

namespace {

struct shared_set_up final : output_driver {
    explicit shared_set_up(std::size_t high = 1 << 20) : output_driver(high) {
        writes.look = [this](const send_request& r) {
            for (std::size_t i = 0; i < r.message.msg_iovlen; ++i)
                from.push_back(r.message.msg_iov[i].iov_base);
        };
    }

    std::vector<const void*> from; // the pieces of each send
};

} // namespace

TEST_CASE("shared bytes keep their place, and go in one send with what is around them") {
    shared_set_up s;
    const watched w("shared");
    CHECK(s.out.queue("a", true));
    CHECK(s.out.queue_shared("b", w.bytes, false));
    CHECK(s.out.queue("c", true));
    CHECK(s.out.queue_shared({}, w.bytes, false));
    CHECK(s.out.queue_shared("d", shared_bytes(), false));
    CHECK(s.out.queue_shared({}, shared_bytes(), false));
    CHECK(s.out.progress().left == 16);
    CHECK(w.holders() == 2);
    s.run();
    CHECK(s.writes.sent == "absharedcsharedd");
    CHECK(s.writes.batches == std::vector<std::size_t>{1});
    REQUIRE(s.from.size() == 5);
    CHECK(s.from[1] == w.held->data()); // without a copy
    CHECK(s.from[3] == w.held->data());
    CHECK(w.holders() == 0);
    CHECK(s.out.progress().left == 0);
}

TEST_CASE("shared bytes are held until the last of them has been sent") {
    shared_set_up s;
    const watched first("first");
    const watched second("second");
    s.writes.results = {2, 4, -EAGAIN, -EINTR, -ENOBUFS};
    CHECK(s.out.queue_shared("<", first.bytes, false));
    CHECK(s.out.queue_shared({}, second.bytes, false));
    s.run();
    CHECK(s.writes.sent == "<f");
    CHECK(first.holders() == 1);
    s.go_on();
    CHECK(s.writes.sent == "<first");
    CHECK(first.holders() == 0); // although the others wait
    CHECK(second.holders() == 1);
    for (int i = 0; i < 8 && s.out.progress().left > 0; ++i) {
        s.go_on();
        s.scheduler.advance(50ms); // the kernel has memory again
        s.run();
    }
    CHECK(s.writes.sent == "<firstsecond");
    CHECK(second.holders() == 0);
    CHECK(s.out.queue(">", true)); // what small ones use again is not theirs
    s.run();
    CHECK(s.writes.sent == "<firstsecond>");
    CHECK(*second.held == "second");
}

TEST_CASE("shared bytes are let go when the output fails") {
    shared_set_up s;
    const watched sending("sending");
    const watched waiting("waiting");
    s.writes.results = {3, -EAGAIN};
    CHECK(s.out.queue_shared({}, sending.bytes, false));
    s.run();
    CHECK(s.out.queue_shared("x", waiting.bytes, false));
    s.out.fail(ECONNABORTED);
    CHECK(waiting.holders() == 0);
    s.go_on();
    CHECK(sending.holders() == 0);
    CHECK_FALSE(s.out.queue_shared("y", waiting.bytes, true));
    CHECK(waiting.holders() == 0);
    CHECK(s.writes.sent == "sen");

    shared_set_up reset;
    reset.writes.results = {-ECONNRESET};
    CHECK(reset.out.queue_shared("x", waiting.bytes, false));
    reset.run();
    CHECK(reset.out.error() == ECONNRESET);
    CHECK(waiting.holders() == 0);
}

TEST_CASE("shared bytes count as queued") {
    shared_set_up s(10);
    const watched w("0123456789");
    CHECK_FALSE(s.out.queue_shared("x", w.bytes, false));
    CHECK(s.out.progress().left == 0);
    CHECK(w.holders() == 0);
    CHECK(s.out.queue_shared({}, w.bytes, false));
    CHECK_FALSE(s.out.queue("x", false));
    CHECK(s.out.queue_shared("x", w.bytes, true));
    CHECK(s.out.progress().left == 21);
    CHECK_FALSE(s.out.is_below_high_water());
    s.run();
    CHECK(s.writes.sent == "0123456789x0123456789");
    s.out.shutdown();
    CHECK_FALSE(s.out.queue_shared({}, w.bytes, true));
}

TEST_CASE("shared bytes stand among files") {
    shared_set_up s;
    const watched w("shared");
    const temporary_file f("file");
    CHECK(s.out.queue_file("a", f.slice(), true, false, false));
    CHECK(s.out.queue_shared("b", w.bytes, false));
    CHECK(s.out.queue_file({}, f.slice(), true, false, false));
    CHECK(s.out.queue_shared({}, w.bytes, false));
    s.run();
    CHECK(s.writes.sent == "afilebsharedfileshared");
    CHECK(w.holders() == 0);
}
