#pragma once

#include <chrono>
#include <cstddef>
#include <memory>

#include <catch2/catch_test_macros.hpp>
#include <sys/socket.h>
#include <unistd.h>

#include <rota/inline_scheduler.hpp>

#include "fake_backends.hpp"
#include "output.hpp"
#include "read_side.hpp"
#include "support.hpp"
#include "write_side.hpp"

namespace rota::io::test {

/// An output between backends that do what their scripts say, on one end of a pair of sockets.
struct output_driver : output::owner {
    explicit output_driver(std::size_t high = 1 << 20)
        : out(scheduler.home(), sender, poller,
              {.high_water_bytes = high, .low_water_bytes = high / 4}, *this) {
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
        out.open(fds[0]);
        scheduler.home().hold(); // so that it is the test that flushes
    }
    output_driver(const output_driver&) = delete;
    output_driver& operator=(const output_driver&) = delete;

    void output_settled() noexcept override {}
    void run() {
        for (int i = 0; i < 3; ++i) {
            scheduler.run();
            sender.flush();
            poller.turn(never, false);
        }
        scheduler.run();
    }
    /// The socket is writable again.
    void go_on() {
        reads.complete(*reads.calls.back().second, 0);
        run();
    }

    rota::inline_scheduler scheduler;
    read_script reads;
    write_script writes;
    read_side poller{[this] { return std::make_unique<fake_read_backend>(reads); },
                     std::chrono::nanoseconds(0)};
    write_side sender{std::make_unique<fake_write_backend>(writes), 1 << 20};
    int fds[2] = {-1, -1};
    output out;

protected:
    ~output_driver() {
        rota::worker::restore(nullptr);
        ::close(fds[0]);
        ::close(fds[1]);
    }
};

} // namespace rota::io::test
