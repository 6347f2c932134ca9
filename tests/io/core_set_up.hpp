#pragma once

// A connection_core over a script instead of a kernel, for the tests of it.

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rota/inline_scheduler.hpp>

#include "fake_backends.hpp"
#include "support.hpp"

#include "connection_core.hpp"

namespace rota::io::test {

using namespace std::chrono_literals;

inline reactor_options small_options() {
    reactor_options o;
    o.receive_buffers = 4;
    o.receive_buffer_bytes = 16;
    o.max_unread_bytes = 40;
    o.linger = 1s;
    return o;
}

/// A connection of the inline scheduler's worker over a script instead of a kernel. The descriptor
/// is real, so that one can see when it is closed.
struct set_up {
    enum class with { peer, nobody };
    explicit set_up(with whom = with::peer) {
        if (whom == with::peer) {
            int fds[2];
            REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
            fd = fds[0];
            other = test::peer(fds[1]);
        } else {
            fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        }
        home.set_turn_hook(&io);
        under_baton([&] {
            core = connection_core::make(fd, io, rota::assignment(home), [this] { gone = true; });
            core->open();
        });
        run();
        REQUIRE(reads.calls.size() == 1);
        op = reads.calls.back().second;
    }
    ~set_up() {
        if (!gone) {
            under_baton([&] { closed ? core->abort() : (core->abort(), core->close()); });
            run();
            if (!gone && !ended)
                end_receive(-ECANCELED);
            run();
        }
        CHECK(gone);
        CHECK(home.connections() == 0);
        CHECK(home.places() == 0);
    }

    template <class What>
    void under_baton(What&& what) {
        rota::worker* const before = home.hold();
        what();
        rota::worker::restore(before);
    }
    /// Turns of both sides until nothing is left to do.
    void run() {
        for (int i = 0; i < 4; ++i) {
            scheduler.run();
            side.turn(never, false);
        }
        scheduler.run();
    }
    /// The kernel fills a buffer.
    void arrive(std::string_view bytes, bool more = true) {
        const std::uint16_t b = io.buffers.take();
        REQUIRE(b != buffer_group::none);
        std::memcpy(io.buffers.data(b), bytes.data(), bytes.size());
        reads.complete(*op, static_cast<std::int32_t>(bytes.size()),
                       (more ? completion_flags::more : 0) | completion_flags::buffer |
                           static_cast<std::uint32_t>(b) << completion_flags::buffer_shift);
        ended = !more;
    }
    void end_receive(std::int32_t result) {
        reads.complete(*op, result);
        ended = true;
    }
    std::string unread() const { return std::string(core->buffered()); }
    void consume(std::size_t bytes) {
        under_baton([&] { core->consume(bytes); });
    }
    void close() {
        closed = true;
        under_baton([&] { core->close(); });
    }
    bool descriptor_is_open() const { return ::fcntl(fd, F_GETFD) >= 0; }
    std::size_t arms() const {
        std::size_t n = 0;
        for (const auto& [what, which] : reads.calls)
            n += what == 'a' ? 1 : 0;
        return n;
    }
    bool was_cancelled() const { return reads.calls.back().first == 'c'; }
    std::size_t buffers_at_home() {
        std::vector<std::uint16_t> all;
        for (std::uint16_t b = io.buffers.take(); b != buffer_group::none; b = io.buffers.take())
            all.push_back(b);
        for (std::size_t i = 0; i < all.size(); ++i)
            io.buffers.untake();
        return all.size();
    }

    reactor_options options = small_options();
    read_script reads;
    write_script writes;
    rota::inline_scheduler scheduler;
    rota::worker& home = scheduler.home();
    read_side side{[this] { return std::make_unique<fake_read_backend>(reads); }, 0ns};
    write_side writer{std::make_unique<fake_write_backend>(writes), 1 << 20};
    worker_io io{home, side, writer, options, false};
    peer other{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
    connection_core* core = nullptr;
    operation* op = nullptr;
    int fd = -1;
    bool ended = false;
    bool closed = false;
    bool gone = false;
};

} // namespace rota::io::test
