#pragma once

// A backend in use and what its operations got, for the tests of all backends.

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <sys/socket.h>

#include <rota/detail/parker.hpp>
#include <rota/worker.hpp>

#include "backend.hpp"
#include "operation.hpp"
#include "support.hpp"

namespace rota::io::test {

using namespace std::chrono_literals;

inline constexpr unsigned entries = 16;

inline std::vector<backend_kind> kinds() {
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

struct watched_op final : operation {
    watched_op(op_kind k, worker& w, int descriptor) : operation(k, w) { fd = descriptor; }
    void complete(std::int32_t, std::uint32_t) noexcept override {}
    std::vector<result> got;
    int ends = 0;
};

/// A backend in use, the operations handed to it, and what they got.
struct in_use {
    explicit in_use(backend_kind kind) : in_use(kind, kernel_backends(kind, entries).make_read()) {}
    in_use(backend_kind kind, std::unique_ptr<read_backend> reader)
        : source(kernel_backends(kind, entries)), backend(std::move(reader)),
          writer(source.make_write()) {
        backend->enter_thread();
    }
    ~in_use() {
        for (auto& op : ops)
            CHECK(op.ends <= op_arms[&op]);
    }
    watched_op& add(op_kind k, int fd) { return ops.emplace_back(k, home, fd); }
    watched_op& add_poll(int fd, std::uint32_t events) {
        watched_op& op = add(op_kind::poll, fd);
        op.poll_events = events;
        return op;
    }
    /// Armed again whenever it ends with bytes, until it has delivered `room` of them.
    watched_op& add_receive(int fd, buffer_group& group, std::uint32_t room = 1 << 20) {
        if (attached.insert(&group).second)
            backend->attach(group);
        watched_op& op = add(op_kind::receive, fd);
        op.group = &group;
        op.room = room;
        return op;
    }
    void arm(watched_op& op) {
        ++op_arms[&op];
        backend->arm(op);
    }
    std::size_t collect(std::chrono::steady_clock::time_point until) {
        std::array<op_completion, 256> out{};
        const std::size_t count = backend->wait(out, until);
        for (const op_completion& c : std::span(out).first(count)) {
            watched_op& op = static_cast<watched_op&>(*c.op);
            op.got.push_back({.value = c.result, .flags = c.flags});
            if ((c.flags & completion_flags::more) != 0)
                continue;
            ++op.ends;
            if (op.kind == op_kind::receive && c.result > 0 && op.room > 0)
                arm(op);
        }
        return count;
    }
    std::size_t collect_now() { return collect({}); }
    /// Until `op` has ended as often as it was armed.
    void await_end(watched_op& op) {
        await([&] { return op.ends == op_arms[&op]; });
    }
    void await_results(watched_op& op, std::size_t count) {
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
    worker home{0, time_source::steady(), std::make_unique<parker>()};
    std::deque<watched_op> ops;
    std::map<const watched_op*, int> op_arms;
    std::set<const buffer_group*> attached;
};

inline std::pair<peer, peer> socket_pair() {
    int fds[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
    return {peer(fds[0]), peer(fds[1])};
}

inline std::pair<peer, peer> tcp_pair() {
    const plain_listener l;
    peer a(l.where());
    return {std::move(a), l.accept()};
}

inline backend_kind each_kind() { return GENERATE(from_range(kinds())); }

} // namespace rota::io::test
