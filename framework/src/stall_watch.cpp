#include <rota/stall_watch.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

#include <rota/detail/stack_trace.hpp>
#include <rota/executor.hpp>
#include <rota/worker.hpp>

namespace rota {
namespace {

using std::chrono::milliseconds;
using clock = std::chrono::steady_clock;

constexpr milliseconds doze_after{1000};
/// How long a thread may take to write its stack down.
constexpr milliseconds patience{500};

/// What a worker was at when it was looked at.
struct sight {
    const worker* who;
    std::uint64_t steps;
    [[nodiscard]] bool lasts() const noexcept {
        const worker::pulse now = who->read_pulse();
        return now.step != nullptr && now.steps == steps;
    }
};

bool sight_lasts(const void* of) noexcept { return static_cast<const sight*>(of)->lasts(); }

std::string place_of(const blocked_routine& r) {
    if (r.what.empty())
        return "which has not waited for anything yet";
    return "last at " + r.what + " in " + r.file + ':' + std::to_string(r.line);
}

} // namespace

std::string to_string(const stall_report& report) {
    const blocked_routine& r = report.routine;
    std::string text =
        r.id != 0 ? "routine " + r.name + '#' + std::to_string(r.id) : "something posted";
    text += report.ended ? " has held worker " : " holds worker ";
    text += std::to_string(report.worker) + " for " + std::to_string(report.length.count()) + " ms";
    if (report.ended)
        return text + " and goes on";
    text += " on thread " + std::to_string(report.thread);
    if (r.id != 0)
        text += ", " + place_of(r);
    if (report.stack.empty())
        return text + "; its stack cannot be had";
    text += "; its stack:";
    for (const std::string& frame : report.stack)
        text += "\n    " + frame;
    return text;
}

stall_watch::stall_watch(options how, const routine_registry& routines)
    : options_(std::move(how)), routines_(routines) {}

stall_watch::~stall_watch() { stop(); }

stall_watch::place stall_watch::make_place(worker& w) {
    place made;
    made.one_.emplace_back(w);
    return made;
}

void stall_watch::add(place p) noexcept {
    const std::lock_guard guard(lock_);
    added_.splice(added_.end(), p.one_);
}

void stall_watch::add(worker& w) { add(make_place(w)); }

void stall_watch::start() {
    if (thread_.joinable())
        return;
    if (options_.limit.count() > 0)
        prepare_stack_traces();
    thread_ = start_quiet_thread(
        "rota-watch", [this] { run(); }, this);
}

void stall_watch::stop() noexcept {
    stopping_.store(true, std::memory_order_seq_cst);
    parker_.notify();
    if (thread_.joinable())
        thread_.join();
}

void stall_watch::run() {
    clock::time_point before = clock::now();
    milliseconds idle{};
    while (!stopping_.load(std::memory_order_seq_cst)) {
        parker_.wait_until(before + tick);
        const clock::time_point now = clock::now();
        const auto passed =
            std::min(std::chrono::duration_cast<milliseconds>(now - before), 2 * tick);
        before = now;
        idle = look(passed) ? milliseconds{} : idle + passed;
        if (tick_does_something())
            idle = milliseconds{};
        if (idle >= doze_after) {
            doze();
            idle = milliseconds{};
            before = clock::now();
        }
    }
}

void stall_watch::doze() {
    dozes_.store(true, std::memory_order_seq_cst);
    if (!look(milliseconds{}) && !stopping_.load(std::memory_order_seq_cst))
        parker_.wait();
    dozes_.store(false, std::memory_order_seq_cst);
}

void stall_watch::wake() noexcept {
    if (dozes_.exchange(false, std::memory_order_seq_cst))
        parker_.notify();
}

bool stall_watch::look(milliseconds passed) {
    {
        const std::lock_guard guard(lock_);
        watched_.splice(watched_.end(), added_);
    }
    bool awake = false;
    for (watched& w : watched_) {
        try {
            look_at(w, passed);
        } catch (...) { // no memory to tell of it, or what is told throws: it looks again
        }
        awake = w.who->awake() || awake;
    }
    return awake;
}

bool stall_watch::tick_does_something() {
    try {
        return options_.on_tick && options_.on_tick();
    } catch (...) { // it may do better at the next one
        return true;
    }
}

void stall_watch::look_at(watched& w, milliseconds passed) {
    const worker::pulse now = w.who->read_pulse();
    if (now.step != nullptr && now.steps == w.steps) {
        w.length += passed;
        if (w.length >= held_up_after)
            w.who->set_held_up(true);
        if (options_.limit.count() > 0 && w.length >= options_.limit && !w.is_reported)
            report(w);
        return;
    }
    if (w.is_reported)
        report_end(w);
    if (w.length >= held_up_after)
        w.who->set_held_up(false);
    w.steps = now.steps;
    w.length = milliseconds{};
}

void stall_watch::report(watched& w) {
    const worker::pulse now = w.who->read_pulse();
    stall_report r{.worker = w.who->index(), .thread = now.thread, .length = w.length};
    r.routine = routines_.describe(now.step);
    // If it went on meanwhile, that was another's name. The thread knows best: the signal
    // itself may be what ends a call that it blocks in.
    const sight seen{.who = w.who, .steps = w.steps};
    const std::vector<void*> stack =
        stack_of(now.thread, patience, {.holds = sight_lasts, .of = &seen});
    if (stack.empty() && !seen.lasts())
        return;
    r.stack = describe_stack(stack);
    w.is_reported = true;
    w.reported = r;
    if (options_.on_stall)
        options_.on_stall(r);
}

void stall_watch::report_end(watched& w) {
    w.is_reported = false;
    stall_report& r = w.reported;
    r.ended = true;
    r.length = w.length;
    r.stack.clear();
    if (options_.on_stall)
        options_.on_stall(r);
}

} // namespace rota
