#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "fiber.hpp"
#include "memory.hpp"
#include "random.hpp"

namespace sim {

using time_point = std::chrono::steady_clock::time_point;
using nanoseconds = std::chrono::nanoseconds;
inline constexpr time_point never = time_point::max();

/// Something that goes on beside the threads: the network, the kernel's side of a ring.
class actor {
public:
    virtual ~actor() = default;
    /// When it can go on: now or earlier, later, or never without something else.
    [[nodiscard]] virtual time_point due() = 0;
    /// One thing that it does, which one is up to the seed.
    virtual void step() = 0;
    [[nodiscard]] virtual std::string_view name() const = 0;
};

/// One run of the simulation: the clock, the threads, and what goes next. All threads are fibers on
/// the one thread of the program; they change places only where a thread would sleep, and each
/// change is drawn from the seed.
///
/// What goes wrong ends the program, because the code under test can be left at no other point:
/// fail() prints the seed, what every thread waits for, and the command that runs it again.
class world {
public:
    struct options {
        std::uint64_t seed = 0;
        bool trace = false; ///< every decision to stdout
    };

    explicit world(const options& o);
    ~world();
    world(const world&) = delete;
    world& operator=(const world&) = delete;

    /// The one that is there.
    static world& here() noexcept { return *current_; }
    static world* find() noexcept { return current_; }

    [[nodiscard]] random& rng() noexcept { return rng_; }
    [[nodiscard]] std::uint64_t seed() const noexcept { return options_.seed; }
    [[nodiscard]] time_point now() const noexcept { return now_; }
    /// The clock as the code under test reads it: every look takes a moment.
    time_point read_clock() noexcept;
    /// A look takes up to so much at least, in this run.
    void slow_down(nanoseconds look) noexcept { look_max_ = std::max(look_max_, look); }

    /// Runs `body` as the first thread until it returns, and all others meanwhile.
    void run(std::function<void()> body);
    /// Starts a thread. It lives until the end of the world; `ended` tells that it has returned.
    fiber& start(std::string name, std::function<void()> body);
    /// Called by a thread: others run until `ready` holds, or the clock has come to `until`. True
    /// if it holds. `what` is told when nothing can go on.
    bool wait(const char* what, std::function<bool()> ready, time_point until = never);
    /// Called by a thread: others may run.
    void yield();
    void sleep(nanoseconds length) {
        wait(
            "sleep", [] { return false; }, now_ + length);
    }

    void add(actor& a);
    void remove(actor& a) noexcept;
    /// Looked at after every step: what must always hold.
    void watch(std::function<void()> check) { check_ = std::move(check); }
    void unwatch() { check_ = nullptr; }

    /// Notes what happens, if a trace is wanted.
    template <class... Args>
    void note(fmt::format_string<Args...> format, Args&&... args) {
        const memory::ample here;
        if (options_.trace)
            print(fmt::format(format, std::forward<Args>(args)...));
    }
    [[noreturn]] void fail(std::string_view what);
    void require(bool holds, std::string_view what) {
        if (!holds)
            fail(what);
    }
    /// A digest of every decision so far: two runs that agree in it have gone the same way.
    [[nodiscard]] std::uint64_t digest() const noexcept { return digest_; }
    [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }

private:
    void print(std::string_view line) const;
    void step();
    void advance_clock();
    void mix(std::uint64_t value) noexcept { digest_ = (digest_ ^ value) * 0x100000001b3U; }

    static world* current_;

    const options options_;
    random rng_;
    time_point now_{std::chrono::hours(1)};
    nanoseconds look_max_{0}; // the most that a look at the clock takes
    std::vector<std::unique_ptr<fiber>> fibers_;
    std::vector<actor*> actors_;
    std::function<void()> check_;
    struct choice {
        fiber* thread;
        actor* other;
        unsigned weight;
    };
    std::vector<choice> choices_;
    std::uint64_t digest_ = 0xcbf29ce484222325U;
    std::uint64_t steps_ = 0;
};

/// Short for what is needed all the time.
inline world& here() noexcept { return world::here(); }

} // namespace sim
