// Channels, permits and time between routines on several workers: what is put in comes out once,
// whichever wait wins its race and whatever is stopped.

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <rota/channel.hpp>
#include <rota/semaphore.hpp>
#include <rota/sleep.hpp>
#include <rota/under.hpp>
#include <rota/when_any.hpp>
#include <rota/when_settled.hpp>
#include <rota/with_timeout.hpp>

#include "scenario.hpp"

namespace sim {
namespace {

using rota::task;
using number = std::optional<std::size_t>;

/// Values that go through two channels, and a permit that goes round.
class exchange {
public:
    exchange(std::size_t capacity, std::size_t count) : a_(capacity), b_(capacity), out_(count) {}

    /// Brings values into the channels until all have been handed out, then closes them.
    task<void> produce() {
        ++producers_;
        while (next_ != out_.size()) {
            const std::size_t value = next_++;
            bool taken = false;
            while (!taken)
                taken = co_await offer(value);
            co_await pause();
        }
        if (--producers_ == 0) {
            a_.close();
            b_.close();
        }
    }

    /// Takes values until there are no more.
    task<void> consume() {
        ++consumers_;
        while (!a_closed_ || !b_closed_)
            co_await take();
        --consumers_;
    }

    /// After the last of them.
    void check() {
        for (const unsigned times : out_)
            here().require(times == 1, "a value is lost, or comes twice");
        here().require(permits_.available() == permits_max, "a permit is lost");
        here().require(a_.size() + b_.size() == 0, "a value is left behind");
    }
    [[nodiscard]] bool over() const noexcept { return producers_ + consumers_ == 0; }

private:
    static constexpr std::size_t permits_max = 2;

    static nanoseconds some_time() { return nanoseconds(here().rng().below(4'000'000)); }
    static task<void> pause() {
        if (here().rng().chance(300))
            co_await rota::sleep_for(some_time());
    }

    /// True once one of the channels has taken `value`.
    task<bool> offer(std::size_t value) {
        rota::channel<std::size_t>& one = here().rng().chance(500) ? a_ : b_;
        rota::channel<std::size_t>& other = &one == &a_ ? b_ : a_;
        if (here().rng().chance(500)) {
            const auto won = co_await rota::when_any(one.push(value), other.push(value),
                                                     rota::sleep_for(some_time()));
            co_return won.index() != 2;
        }
        try {
            co_return co_await rota::with_timeout(some_time(), one.push(value));
        } catch (const rota::timed_out&) {
            co_return false;
        }
    }

    /// One try to take something, in one of several ways.
    task<void> take() {
        switch (here().rng().below(4)) {
        case 0:
            co_await take_either();
            break;
        case 1:
            co_await take_in_time(here().rng().chance(500));
            break;
        case 2:
            co_await take_settled();
            break;
        default:
            co_await take_with_permit();
        }
        co_await pause();
    }

    task<void> take_either() {
        const bool a_first = here().rng().chance(500);
        rota::channel<std::size_t>& one = a_first ? a_ : b_;
        rota::channel<std::size_t>& other = a_first ? b_ : a_;
        const auto won =
            co_await rota::when_any(one.pop(), other.pop(), rota::sleep_for(some_time()));
        if (won.index() == 0)
            note(std::get<0>(won), a_first);
        else if (won.index() == 1)
            note(std::get<1>(won), !a_first);
    }

    task<void> take_in_time(bool from_a) {
        try {
            const number got = co_await rota::with_timeout(some_time(), (from_a ? a_ : b_).pop());
            note(got, from_a);
        } catch (const rota::timed_out&) {
        }
    }

    task<void> take_settled() {
        const auto both =
            co_await rota::with_timeout(some_time(), rota::when_settled(a_.pop(), b_.pop()));
        if (std::get<0>(both))
            note(*std::get<0>(both).value, true);
        if (std::get<1>(both))
            note(*std::get<1>(both).value, false);
    }

    task<void> take_with_permit() {
        const auto won =
            co_await rota::when_any(permits_.acquire(), a_.pop(), rota::sleep_for(some_time()));
        if (won.index() == 1)
            note(std::get<1>(won), true);
        else if (won.index() == 0)
            co_await take_in_time(false); // with the permit
    }

    void note(const number& got, bool from_a) {
        if (got)
            ++out_.at(*got);
        else
            (from_a ? a_closed_ : b_closed_) = true;
    }

    rota::channel<std::size_t> a_;
    rota::channel<std::size_t> b_;
    rota::semaphore permits_{permits_max};
    // All threads are fibers on one, and change places only where they sleep.
    std::vector<unsigned> out_; // how often each value has come out
    std::size_t next_ = 0;
    std::size_t producers_ = 0;
    std::size_t consumers_ = 0;
    bool a_closed_ = false;
    bool b_closed_ = false;
};

} // namespace

void run_waits() {
    random& r = here().rng();
    rota::runtime rt({.workers = r.between(1, 3)});
    exchange all(r.below(3), r.between(1, 60));
    std::vector<rota::routine_ptr> routines;
    for (std::size_t i = r.between(1, 3); i != 0; --i)
        routines.push_back(rt.spawn(all.produce(), {.name = "produces"}));
    for (std::size_t i = r.between(1, 3); i != 0; --i)
        routines.push_back(rt.spawn(all.consume(), {.name = "consumes"}));
    rt.start();
    here().wait("the end of all routines", [&] { return rt.routine_count() == 0; });
    for (const rota::routine_ptr& each : routines)
        here().require(!each->error(), "a routine has failed");
    all.check();
    rt.stop();
}

} // namespace sim
