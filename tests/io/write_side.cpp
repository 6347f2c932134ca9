#include "write_side.hpp"

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/detail/parker.hpp>

#include "fake_backends.hpp"
#include "read_side.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;

namespace {

struct nobody final : output::owner {
    void output_settled() noexcept override {}
};

/// Outputs on descriptors 0, 1, ... that only the fake backend ever sees.
struct set_up {
    explicit set_up(std::optional<std::size_t> inline_send_bytes = 1 << 20)
        : sender(std::make_unique<fake_write_backend>(writes), inline_send_bytes) {}

    output& add() {
        outputs.emplace_back(home, sender, poller,
                             output_limits{.high_water_bytes = 1 << 30, .low_water_bytes = 1 << 29},
                             owner);
        outputs.back().open(static_cast<int>(outputs.size()) - 1);
        return outputs.back();
    }

    read_script reads;
    write_script writes;
    rota::worker home{0, rota::time_source::steady(), std::make_unique<rota::parker>()};
    read_side poller{[this] { return std::make_unique<fake_read_backend>(reads); }, 0ns};
    nobody owner;
    std::deque<output> outputs;
    write_side sender;
};

/// Marks the thread as one that holds a worker's baton, which is why enqueue() does not flush.
struct holding {
    explicit holding(rota::worker& w) : before(w.hold()) {}
    ~holding() { rota::worker::restore(before); }
    rota::worker* before;
};

} // namespace

TEST_CASE("outputs are sent in batches of bounded size") {
    set_up s;
    const holding baton(s.home);
    for (int i = 0; i < 600; ++i)
        CHECK(s.add().queue("x", true));
    s.sender.flush();
    CHECK(s.writes.batches == std::vector<std::size_t>{256, 256, 88});
    CHECK(s.writes.sent.size() == 600);
    s.sender.flush();
    CHECK(s.writes.batches.size() == 3);
}

TEST_CASE("each output is in a batch once, and first come is first sent") {
    set_up s;
    const holding baton(s.home);
    output& a = s.add();
    output& b = s.add();
    CHECK(a.queue("a1 ", true));
    CHECK(b.queue("b1 ", true));
    CHECK(a.queue("a2 ", true));
    s.sender.flush();
    CHECK(s.writes.sent == "a1 a2 b1 ");
    CHECK(s.writes.batches == std::vector<std::size_t>{2});
}

TEST_CASE("what is queued during a send is sent behind it") {
    set_up s;
    const holding baton(s.home);
    output& a = s.add();
    output& b = s.add();
    bool first = true;
    s.writes.look = [&](const send_request& r) {
        if (r.fd == 0 && std::exchange(first, false)) {
            a.queue("a2 ", true); // it is being sent: no second send at the same time
            b.queue("b1 ", true);
        }
    };
    CHECK(a.queue("a1 ", true));
    s.sender.flush();
    CHECK(s.writes.sent == "a1 a2 b1 ");
}

TEST_CASE("without a worker's turn around it, what is queued is sent at once") {
    set_up s;
    CHECK(s.add().queue("now", true));
    CHECK(s.writes.sent == "now");
}

TEST_CASE("little is sent on the spot, much by the thread") {
    set_up s(1000);
    s.sender.start_thread();
    std::atomic<std::thread::id> small_on;
    std::atomic<bool> large_sent{false};
    std::thread::id large_on;
    s.writes.look = [&](const send_request& r) {
        if (r.fd == 0) {
            small_on = std::this_thread::get_id();
        } else {
            large_on = std::this_thread::get_id();
            large_sent = true;
            large_sent.notify_all();
        }
    };
    const holding baton(s.home);
    output& large = s.add();
    output& small = s.add();
    small.open(0);
    large.open(1);
    CHECK(large.queue(std::string(1001, 'l'), true));
    s.sender.flush();
    large_sent.wait(false);
    CHECK(large_on != std::this_thread::get_id());
    // The thread may still be awake, and then it is the one that sends; once it sleeps it is not.
    while (small_on.load() != std::this_thread::get_id()) {
        CHECK(small.queue("s", true));
        s.sender.flush();
        std::this_thread::yield();
    }
    s.sender.stop();
}

TEST_CASE("what lends itself sends for a bounded time, however much is queued meanwhile") {
    set_up s;
    s.sender.start_thread();
    const holding baton(s.home);
    output& a = s.add();
    output& b = s.add();
    constexpr int sends_max = 100'000;
    std::atomic<int> sends{0};
    std::atomic<int> lent_sends{0};
    const std::thread::id here = std::this_thread::get_id();
    s.writes.look = [&](const send_request& r) {
        if (std::this_thread::get_id() == here)
            ++lent_sends;
        if (++sends < sends_max)
            (r.fd == 0 ? b : a).queue("x", true); // there is always something left
    };
    // The thread may still be awake; once it sleeps it is not the one that begins.
    while (lent_sends == 0) {
        sends = 0;
        a.queue("x", true);
        s.sender.flush();
        while (sends < sends_max)
            std::this_thread::yield();
    }
    CHECK(lent_sends < 100);
    s.sender.stop();
}

TEST_CASE("where the thread is to send everything nobody else does") {
    set_up s(std::nullopt);
    s.sender.start_thread();
    const holding baton(s.home);
    output& out = s.add();
    std::atomic<int> sends_here{0};
    std::atomic<std::size_t> sent{0};
    const std::thread::id here = std::this_thread::get_id();
    s.writes.look = [&](const send_request& r) {
        if (std::this_thread::get_id() == here)
            ++sends_here;
        sent += r.message.msg_iov->iov_len;
    };
    for (std::size_t i = 1; i <= 1000; ++i) {
        CHECK(out.queue("x", true));
        s.sender.flush();
        while (i % 3 == 0 && sent < i) // and while it sleeps
            std::this_thread::yield();
    }
    while (sent < 1000)
        std::this_thread::yield();
    CHECK(sends_here == 0);
    s.sender.stop();
}

TEST_CASE("several threads queue and flush, nothing is lost and nothing overtakes") {
    set_up s(3000);
    s.sender.start_thread();
    constexpr int threads = 4;
    constexpr int rounds = 2000;
    std::vector<std::string> sent(threads);
    s.writes.look = [&](const send_request& r) {
        for (std::size_t i = 0; i < r.message.msg_iovlen; ++i) {
            const iovec& v = r.message.msg_iov[i];
            sent[static_cast<std::size_t>(r.fd)].append(static_cast<char*>(v.iov_base), v.iov_len);
        }
    };
    for (int i = 0; i < threads; ++i)
        s.add();
    std::vector<std::thread> running;
    for (int t = 0; t < threads; ++t) {
        running.emplace_back([&s, t] {
            rota::worker home(static_cast<std::size_t>(t), rota::time_source::steady(),
                              std::make_unique<rota::parker>());
            const holding baton(home);
            output& out = s.outputs[static_cast<std::size_t>(t)];
            for (int i = 0; i < rounds; ++i) {
                std::string piece = std::to_string(i) + " ";
                if (i % 100 == 0)
                    piece.insert(0, 5000, '.');
                out.queue(piece, true);
                s.sender.flush();
            }
        });
    }
    for (std::thread& t : running)
        t.join();
    std::string expected;
    for (int i = 0; i < rounds; ++i)
        expected +=
            (i % 100 == 0 ? std::string(5000, '.') : std::string()) + std::to_string(i) + " ";
    for (;;) { // the holder of the baton is about to send the rest
        {
            const std::lock_guard guard(s.writes.lock);
            if (std::ranges::all_of(sent,
                                    [&](const auto& x) { return x.size() >= expected.size(); }))
                break;
        }
        std::this_thread::yield();
    }
    s.sender.stop();
    for (const std::string& each : sent)
        CHECK((each == expected));
}

TEST_CASE("stop() without a thread, and twice, does nothing") {
    set_up s;
    s.sender.stop();
    set_up t;
    t.sender.start_thread();
    t.sender.stop();
    t.sender.stop();
}
