#include <rota/runtime.hpp>

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

#include <sched.h>

namespace rota {
namespace {

std::size_t usable_cores() noexcept {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(0, sizeof set, &set) == 0) {
        return static_cast<std::size_t>(std::max(1, CPU_COUNT(&set)));
    }
    return std::max(1U, std::thread::hardware_concurrency());
}

std::size_t workers_wanted(const runtime_options& options) noexcept {
    return options.workers == 0 ? usable_cores() : options.workers;
}

std::size_t blocking_threads_wanted(const runtime_options& options) noexcept {
    if (options.blocking_threads != 0)
        return options.blocking_threads;
    return std::max<std::size_t>(16, 4 * std::min(workers_wanted(options), runtime::max_workers));
}

void write_to_stderr(const stall_report& report) {
    std::fprintf(stderr, "rota: %s\n", to_string(report).c_str());
}

/// The worker's load for who gets something new. What is runnable is over in a moment, a connection
/// stays: counted together, or a worker that happens to be the first to have its turn would get all
/// who come back at once. One that is held up is the last to get anything.
load load_of(const worker& w) noexcept {
    const load l = w.load();
    return {.runnable = w.held_up() ? std::size_t{1} : 0,
            .connections = l.runnable + l.connections};
}

stall_watch::options watch_options(const runtime_options& options) {
    return {.limit = options.stall_limit,
            .on_stall = options.on_stall ? options.on_stall : write_to_stderr,
            .on_tick = options.on_tick};
}

} // namespace

runtime::runtime(runtime_options options)
    : executor(options.on_error), options_(std::move(options)),
      blocking_(blocking_threads_wanted(options_), options_.blocking_nice),
      watch_(watch_options(options_), registry_), scheduler_(options_.batch_size) {
    const std::size_t count = workers_wanted(options_);
    if (count > max_workers)
        throw std::invalid_argument("runtime: more than 256 workers");
    slots_.reserve(max_workers);
    active_.reserve(max_workers);
    for (std::size_t i = 0; i < count; ++i) {
        add_worker();
        activate(i);
    }
}

runtime::~runtime() { stop(); }

void runtime::add_worker() {
    const std::size_t index = slots_.size();
    auto sleeper = options_.make_parking ? options_.make_parking(index)
                                         : std::unique_ptr<parking>(std::make_unique<parker>());
    auto shard = std::make_unique<worker>(index, time_source::steady(), std::move(sleeper));
    shard->set_watch(&watch_);
    watch_.add(*shard);
    if (observer_) {
        observer_(*shard);
    }
    slots_.emplace_back().shard = std::move(shard);
}

void runtime::activate(std::size_t index) {
    slot& s = slots_[index];
    s.active = true;
    active_.insert(std::upper_bound(active_.begin(), active_.end(), index), index);
}

void runtime::on_worker_added(std::function<void(worker&)> observer) {
    const std::lock_guard guard(lock_);
    observer_ = std::move(observer);
    for (slot& s : slots_)
        observer_(*s.shard);
}

void runtime::start_thread(slot& s) {
    if (s.thread.joinable())
        s.thread.join(); // of a worker that had ended
    s.thread = start_quiet_thread("rota-worker-" + std::to_string(s.shard->index()),
                                  [w = s.shard.get()] { w->run(); });
}

void runtime::start() {
    const std::lock_guard guard(lock_);
    if (running_ || stopped_)
        return;
    running_ = true;
    watch_.start();
    for (slot& s : slots_)
        start_thread(s);
}

void runtime::join() {
    start();
    registry_.wait_empty();
}

void runtime::stop() {
    const std::lock_guard one_at_a_time(stop_lock_);
    registry_.request_stop_all(); // and whatever is spawned from now on
    try {
        start(); // what was spawned but never started must run, if only to end
    } catch (const std::system_error&) { // no threads to be had
        if (registry_.size() != 0)
            throw;
    }
    {
        const std::lock_guard guard(lock_);
        if (stopped_)
            return;
        stopped_ = true; // the workers are from now on those that there are
    }
    registry_.wait_empty();
    for (slot& s : slots_)
        s.shard->stop();
    for (slot& s : slots_) {
        if (s.thread.joinable())
            s.thread.join();
    }
    blocking_.stop();
    watch_.stop();
}

void runtime::set_workers(std::size_t count) {
    if (count == 0 || count > max_workers) {
        throw std::invalid_argument("runtime: the number of workers must be from 1 to 256");
    }
    const std::lock_guard guard(lock_);
    if (stopped_)
        return;
    while (active_.size() > count) {
        slot& s = slots_[active_.back()];
        active_.pop_back();
        s.active = false;
        s.shard->stop();
    }
    for (std::size_t i = 0; active_.size() < count; ++i) {
        if (i == slots_.size()) {
            add_worker();
        } else if (slots_[i].active) {
            continue;
        } else if (slots_[i].shard->resume()) { // it was still draining
            activate(i);
            continue;
        }
        if (running_)
            start_thread(slots_[i]);
        activate(i);
    }
}

std::size_t runtime::worker_count() const {
    const std::lock_guard guard(lock_);
    return active_.size();
}

std::vector<worker_status> runtime::workers() const {
    std::vector<worker_status> result;
    const std::lock_guard guard(lock_);
    for (const slot& s : slots_) {
        const worker& w = *s.shard;
        if (!s.active && w.ended())
            continue;
        result.push_back({.index = w.index(),
                          .state = w.state(),
                          .draining = !s.active,
                          .routines = w.routines(),
                          .connections = w.connections(),
                          .runnable = w.load().runnable});
    }
    return result;
}

worker* runtime::worker_at(std::size_t index) const {
    const std::lock_guard guard(lock_);
    return index < slots_.size() ? slots_[index].shard.get() : nullptr;
}

assignment runtime::assign() {
    const std::lock_guard guard(lock_);
    const std::size_t picked = scheduler_.pick(
        active_.size(), [this](std::size_t i) { return load_of(*slots_[active_[i]].shard); });
    return assignment(*slots_[active_[picked]].shard);
}

} // namespace rota
