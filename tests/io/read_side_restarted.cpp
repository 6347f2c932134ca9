// A worker's thread that ends, and another one that drives its read side.
#include "read_side.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/detail/parker.hpp>
#include <rota/worker.hpp>

#include "fake_backends.hpp"
#include "read_side_set_up.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;

namespace {

/// A backend that is made at the address of the one before the last.
struct at_two_places final : fake_read_backend {
    using fake_read_backend::fake_read_backend;
    static void* operator new(std::size_t) {
        alignas(fake_read_backend) static std::array<std::byte, sizeof(fake_read_backend)>
            places[2];
        static std::size_t next = 0;
        return places[next++ % 2].data();
    }
    static void operator delete(void*) noexcept {}
};

/// A backend that takes its time, and tells whether it was woken although it has gone.
struct mortal final : fake_read_backend {
    mortal(read_script& s, std::atomic<int>& dead) : fake_read_backend(s), dead_wakes(dead) {}
    ~mortal() override { alive = false; }
    static void give_way() {
        for (int i = 0; i < 20; ++i)
            std::this_thread::yield();
    }
    std::size_t wait(std::span<op_completion> out, time_point until) override {
        give_way();
        return fake_read_backend::wait(out, until);
    }
    void wake() noexcept override {
        give_way();
        if (!alive)
            ++dead_wakes;
    }
    // Its memory stays.
    static void operator delete(void*) noexcept {}
    std::atomic<int>& dead_wakes;
    std::atomic<bool> alive{true};
};

} // namespace

TEST_CASE("a group of buffers is made known to each new ring, wherever that is in memory") {
    read_script script;
    read_side side([&script] { return std::make_unique<at_two_places>(script); }, 30us);
    rota::worker home{0, rota::time_source::steady(), std::make_unique<rota::parker>()};
    buffer_group group(0, 2, 64);
    test_op op(home, op_kind::receive);
    op.group = &group;
    const auto receive_once = [&] {
        side.request(op, operation::want_arm);
        side.turn({}, false);
        script.complete(op, 0);
        side.turn({}, false);
    };
    // The worker's thread ends and is started again; the second one receives nothing.
    std::thread(receive_once).join();
    std::thread([&side] { side.turn({}, false); }).join();
    std::thread(receive_once).join();
    CHECK(script.attached.size() == 2);
}

TEST_CASE("no ring is woken that has gone while a worker's thread is started again") {
    read_script script;
    std::atomic<int> dead_wakes{0};
    constexpr int restarts = 200;
    // Room for all of them: none is freed.
    std::vector<std::byte> memory((restarts + 2) * sizeof(mortal));
    std::size_t next = 0;
    read_side side(
        [&] {
            void* const place = memory.data() + next++ * sizeof(mortal);
            return std::unique_ptr<read_backend>(::new (place) mortal(script, dead_wakes));
        },
        30us);
    std::atomic<bool> stop{false};
    std::thread waker([&] {
        while (!stop)
            side.wake();
    });
    for (int i = 0; i < restarts; ++i) {
        std::thread([&side] {
            side.turn({}, false);
            side.turn({}, false);
        }).join();
    }
    stop = true;
    waker.join();
    CHECK(dead_wakes == 0);
}
