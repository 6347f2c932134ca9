// A program to make a core file of: one routine waits for a value, one for time, one holds its
// worker.
#include <chrono>
#include <semaphore>

#include <rota/channel.hpp>
#include <rota/runtime.hpp>
#include <rota/sleep.hpp>
#include <rota/task.hpp>

namespace {

std::binary_semaphore begun{0};
std::binary_semaphore may_end{0};

rota::task<void> wait_for_a_value(rota::channel<int>* from) {
    const auto value = co_await from->pop();
    (void)value;
}

rota::task<void> wait_for_time() { co_await rota::sleep_for(std::chrono::hours(24)); }

rota::task<void> hold() {
    begun.release();
    may_end.acquire();
    co_return;
}

} // namespace

/// Where the debugger stops it.
extern "C" [[gnu::noinline]] void all_is_parked();
extern "C" [[gnu::noinline]] void all_is_parked() { asm volatile("" ::: "memory"); }

int main() {
    rota::channel<int> values(1);
    rota::runtime rt({.workers = 2});
    rt.start();
    (void)rt.spawn(wait_for_a_value(&values), {.name = "consumer", .on = rt.worker_at(0)});
    (void)rt.spawn(wait_for_time(), {.name = "sleeper", .on = rt.worker_at(0)});
    (void)rt.spawn(hold(), {.name = "holder", .on = rt.worker_at(1)});
    begun.acquire();
    while (rt.blocked().size() != 2) {
    }
    all_is_parked();
    may_end.release();
    rt.stop();
    return 0;
}
