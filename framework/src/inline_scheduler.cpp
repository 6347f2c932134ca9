#include <rota/inline_scheduler.hpp>

#include <cstdio>
#include <stdexcept>

namespace rota {
namespace {

constexpr std::size_t steps_per_turn = 64;

} // namespace

std::string_view to_string(run_status status) noexcept {
    switch (status) {
    case run_status::ran_one:
        return "ran one";
    case run_status::some_routines_blocked:
        return "some routines blocked";
    case run_status::no_routines:
        return "no routines";
    }
    return "unknown";
}

inline_scheduler::inline_scheduler(error_handler on_error)
    : executor(std::move(on_error)), worker_(0, time_, nullptr) {}

inline_scheduler::~inline_scheduler() {
    registry_.request_stop_all();
    while (run() != run_status::no_routines) {
        if (!advance_to_next_timer()) {
            // Their frames stay: what they refer to may be gone, and nobody is left to resume them.
            std::fprintf(stderr, "rota: left over: %s\n", describe_blocked().c_str());
            return;
        }
    }
    worker* const before = worker_.hold();
    worker_.end_kept();
    worker::restore(before);
    run_until_idle();
}

std::string inline_scheduler::describe_blocked() const {
    std::string text;
    for (const blocked_routine& b : blocked()) {
        text += text.empty() ? "" : ", ";
        text += b.name + "#" + std::to_string(b.id) + " waits for " + b.what;
    }
    return text;
}

std::size_t inline_scheduler::turn(std::size_t steps) {
    worker* const before = worker_.hold();
    const std::size_t ran = worker_.turn(steps);
    worker_.end_turn();
    worker::restore(before);
    return ran;
}

run_status inline_scheduler::idle_status() const {
    return registry_.size() == 0 ? run_status::no_routines : run_status::some_routines_blocked;
}

run_status inline_scheduler::run_one() {
    return turn(1) != 0 ? run_status::ran_one : idle_status();
}

std::size_t inline_scheduler::run_until_idle() {
    std::size_t steps = 0;
    do {
        steps += turn(steps_per_turn);
    } while (worker_.has_work());
    return steps;
}

run_status inline_scheduler::run() {
    run_until_idle();
    return idle_status();
}

run_status inline_scheduler::advance(time_span length) {
    const auto target = deadline_after(time_.now(), length);
    run_until_idle();
    while (worker_.timers().next() <= target && advance_to_next_timer()) {
    }
    if (target != time_source::time_point::max())
        time_.move_to(target);
    return run();
}

bool inline_scheduler::advance_to_next_timer() {
    const auto next = worker_.timers().next();
    if (next == time_source::time_point::max()) {
        return false;
    }
    time_.move_to(next);
    run_until_idle();
    return true;
}

void inline_scheduler::run_until_stopped(routine& r) {
    while (r.state() != routine_state::stopped) {
        run_until_idle();
        if (r.state() == routine_state::stopped || advance_to_next_timer()) {
            continue;
        }
        const std::string message = "inline_scheduler: nothing can go on; " + describe_blocked();
        r.request_stop();
        run_until_idle();
        throw std::logic_error(message);
    }
}

} // namespace rota
