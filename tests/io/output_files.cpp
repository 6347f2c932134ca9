// Files among what an output has queued, over a kernel that does what its script says.

#include <cerrno>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <sys/socket.h>

#include "output_driver.hpp"
#include "support.hpp"
#include "temporary_file.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;

namespace {

struct files_set_up final : output_driver {
    explicit files_set_up(std::size_t high = 1 << 20) : output_driver(high) {
        writes.look = [this](const send_request& r) { more.push_back(r.more != 0); };
    }
    bool peer_sees_end() const {
        char byte = 0;
        return ::recv(fds[1], &byte, 1, MSG_DONTWAIT) == 0;
    }

    std::vector<bool> more; // of each send
};

} // namespace

TEST_CASE("a file keeps its place among strings") {
    files_set_up s;
    const temporary_file f("file");
    CHECK(s.out.queue_file({}, f.slice(0, 1), true, false, false));
    CHECK(s.out.queue("a", true));
    CHECK(s.out.queue_file("b", f.slice(1, 1), true, false, false));
    CHECK(s.out.queue_file({}, f.slice(2, 2), true, false, false));
    CHECK(s.out.queue("c", true));
    CHECK(s.out.queue_file("d", f.slice(0, 0), true, false, false));
    CHECK(s.out.progress().left == 8);
    s.run();
    CHECK(s.writes.sent == "fabilecd");
    CHECK(s.more == std::vector<bool>{false, true, false, false, false});
    CHECK(s.out.progress().left == 0);
    CHECK(s.out.queue_file("e", f.slice(), true, false, false));
    CHECK(s.out.queue("g", true));
    s.run();
    CHECK(s.writes.sent == "fabilecdefileg");
    CHECK(s.out.error() == 0);
}

TEST_CASE("a file goes on where its socket was full") {
    files_set_up s;
    const std::string bytes(600'000, 'x');
    const temporary_file f(bytes);
    s.writes.results = {2, -EAGAIN, 3, 1000, -EAGAIN, 262'144, -EINTR, -ENOBUFS};
    CHECK(s.out.queue_file("head ", f.slice(), true, false, false));
    s.run();
    for (int i = 0; i < 12 && s.out.progress().left > 0; ++i) {
        if (!s.reads.calls.empty())
            s.go_on();
        s.scheduler.advance(50ms); // the kernel has memory again
        s.run();
    }
    CHECK(s.writes.sent == "head " + bytes);
    CHECK(s.out.error() == 0);
}

TEST_CASE("the file is let go when it is sent, or when the output fails") {
    files_set_up s;
    const std::size_t before = open_descriptors();
    {
        const temporary_file f("file");
        CHECK(s.out.queue_file("head", f.slice(), true, false, false));
    }
    CHECK(open_descriptors() == before + 1);
    s.run();
    CHECK(open_descriptors() == before);
    {
        const temporary_file f("file");
        CHECK(s.out.queue_file("head", f.slice(), true, false, false));
    }
    s.out.fail(ECONNABORTED);
    CHECK(open_descriptors() == before);
    s.run();
}

TEST_CASE("a file counts as queued, and has room where nothing is") {
    files_set_up s(10);
    const temporary_file f("0123456789");
    CHECK(s.out.queue_file("x", f.slice(), true, false, false));
    CHECK(s.out.progress().left == 11);
    CHECK_FALSE(s.out.queue("x", false));
    CHECK_FALSE(s.out.queue_file({}, f.slice(0, 1), true, false, false));
    CHECK(s.out.queue_file({}, f.slice(0, 1), true, false, true));
    s.run();
    CHECK(s.writes.sent == "x01234567890");
}

TEST_CASE("a file that has become shorter ends the connection") {
    files_set_up s;
    const temporary_file f("0123456789");
    const file_slice whole = f.slice();
    f.cut(4);
    CHECK(s.out.queue_file("head ", whole, true, false, false));
    CHECK(s.out.queue(" tail", true));
    s.run();
    s.go_on(); // what there was has gone; it waits as for a socket that is full
    CHECK(s.writes.sent == "head 0123");
    CHECK(s.out.error() == ESTALE);
    CHECK_FALSE(s.out.queue("more", true));
    CHECK(s.peer_sees_end());
}

TEST_CASE("a file that has changed while it waited is not sent to its end") {
    const bool last = true;
    SECTION("when its socket was full") {
        files_set_up s;
        const temporary_file f("0123456789");
        file_slice whole = f.slice();
        whole.facts.modified_ns -= 1;
        s.writes.results = {5, 4, -EAGAIN};
        CHECK(s.out.queue_file("head ", whole, last, false, false));
        s.run();
        CHECK(s.writes.sent == "head 0123");
        s.go_on();
        CHECK(s.writes.sent == "head 0123");
        CHECK(s.out.error() == ESTALE);
        CHECK(s.peer_sees_end());
    }
    SECTION("when something was in front of it, or a part of it has left") {
        for (const bool waited : {false, true}) {
            files_set_up s;
            const temporary_file f("0123456789");
            file_slice whole = f.slice();
            whole.facts.modified_ns -= 1;
            if (!waited)
                CHECK(s.out.queue("other", true));
            CHECK(s.out.queue_file({}, whole, last, waited, false));
            s.run();
            CHECK(s.writes.sent == (waited ? "" : "other"));
            CHECK(s.out.error() == ESTALE);
        }
    }
}

TEST_CASE("a file that cannot be read ends the connection") {
    files_set_up s;
    const temporary_file f("0123456789");
    s.writes.results = {5, -EIO};
    CHECK(s.out.queue_file("head ", f.slice(), true, false, false));
    s.run();
    CHECK(s.out.error() == EIO);
    CHECK(s.peer_sees_end());
}
