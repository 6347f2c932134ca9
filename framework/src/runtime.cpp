#include <rota/runtime.hpp>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

#include <rota/detail/usable_cores.hpp>
#include <rota/stall_watch.hpp>

namespace rota {
namespace {

std::size_t workers_wanted(const runtime_options& options) noexcept {
    return options.workers == 0 ? detail::usable_cores() : options.workers;
}

std::size_t most_workers_wanted(const runtime_options& options) noexcept {
    return options.workers_max == 0 ? workers_wanted(options) : options.workers_max;
}

std::size_t blocking_threads_wanted(const runtime_options& options) {
    constexpr std::size_t most = 65'536;
    if (options.blocking_threads > most)
        throw std::invalid_argument("runtime: blocking_threads is more than 65,536");
    if (options.blocking_threads != 0)
        return options.blocking_threads;
    return std::max<std::size_t>(16,
                                 4 * std::min(most_workers_wanted(options), runtime::max_workers));
}

void write_to_stderr(const stall_report& report) {
    std::fprintf(stderr, "rota: %s\n", to_string(report).c_str());
}

/// The worker's load, for the choice of one for something new. What is runnable is over in a
/// moment, a connection stays: counted together, or a worker that happens to be the first to have
/// its turn would get all that come back at once. One that is held up is the last to get anything.
worker_load load_of(const worker& w) noexcept {
    const worker_load l = w.load();
    return {.runnable = w.held_up() ? std::size_t{1} : 0,
            .connections = l.runnable + l.connections};
}

/// Holds threads that have been started until it is known that all of them have.
class start_gate {
public:
    /// True: go on. False: end.
    bool pass() noexcept {
        word_.wait(closed);
        return word_.load() == open;
    }
    void decide(bool all_started) noexcept {
        word_.store(all_started ? open : never);
        word_.notify_all();
    }

private:
    static constexpr int closed = 0;
    static constexpr int open = 1;
    static constexpr int never = 2;
    std::atomic<int> word_{closed};
};

} // namespace

runtime::runtime(runtime_options options)
    : executor(options.on_error), options_(std::move(options)),
      scaler_(workers_wanted(options_), most_workers_wanted(options_)),
      blocking_(blocking_threads_wanted(options_), options_.blocking_nice), watch_(make_watch()),
      scheduler_(options_.batch_size) {
    const std::size_t count = workers_wanted(options_);
    if (count > max_workers)
        throw std::invalid_argument("runtime: more than 256 workers");
    if (most_workers_wanted(options_) > max_workers)
        throw std::invalid_argument("runtime: workers_max is more than 256");
    if (most_workers_wanted(options_) < count)
        throw std::invalid_argument("runtime: workers_max is less than workers");
    if (options_.batch_size == 0)
        throw std::invalid_argument("runtime: batch_size is 0");
    if (options_.stall_limit.count() < 0)
        throw std::invalid_argument("runtime: stall_limit is negative");
    slots_.reserve(max_workers);
    active_.reserve(max_workers);
    for (std::size_t i = 0; i < count; ++i) {
        add_worker();
        activate(i);
    }
}

runtime::~runtime() {
    try {
        stop();
    } catch (const std::logic_error& e) {
        end_program(e);
    }
}

std::unique_ptr<stall_watch> runtime::make_watch() {
    stall_watch::options how{.limit = options_.stall_limit,
                             .on_stall = options_.on_stall ? options_.on_stall : write_to_stderr};
    const bool scales = options_.workers_max != 0;
    if (scales || options_.on_tick) {
        how.on_tick = [this, scales] {
            if (options_.on_tick)
                options_.on_tick();
            return scales && scale();
        };
    }
    return std::make_unique<stall_watch>(std::move(how), registry_);
}

/// On the watch's thread, every tick. True while there are more workers than the least.
bool runtime::scale() {
    const auto now = std::chrono::steady_clock::now();
    const auto passed = scaled_at_ == std::chrono::steady_clock::time_point{}
                            ? std::chrono::steady_clock::duration{stall_watch::tick}
                            : std::min<std::chrono::steady_clock::duration>(now - scaled_at_,
                                                                            2 * stall_watch::tick);
    scaled_at_ = now;
    std::size_t active = 0;
    std::size_t busy = 0;
    {
        const std::lock_guard guard(lock_);
        active = active_.size();
        for (const std::size_t i : active_) {
            const worker& w = *slots_[i].shard;
            busy += w.read_pulse().step != nullptr || w.load().runnable != 0 ? 1 : 0;
        }
    }
    std::size_t wanted = scaler_.next(active, busy, passed);
    if (wanted != active) {
        try {
            set_workers(wanted);
        } catch (const std::exception&) { // no thread or memory to be had: later, perhaps
            wanted = active;
        }
    }
    return scaler_.above_least(wanted);
}

void runtime::add_worker() {
    const std::size_t index = slots_.size();
    auto sleeper = options_.make_parking ? options_.make_parking(index)
                                         : std::unique_ptr<parking>(std::make_unique<parker>());
    if (sleeper == nullptr)
        throw std::invalid_argument("runtime: make_parking has returned nothing");
    auto shard = std::make_unique<worker>(index, time_source::steady(), std::move(sleeper));
    shard->set_watch(watch_.get());
    stall_watch::place watched = stall_watch::make_place(*shard);
    if (observer_) {
        observer_(*shard);
    }
    // Nothing below throws: what has been told of a worker may rely on it.
    watch_->add(std::move(watched));
    if (running_)
        shard->retire(); // until it has a thread
    slots_.emplace_back().shard = std::move(shard);
}

void runtime::activate(std::size_t index) noexcept {
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

/// Gives threads to the workers `of`, which have none or have ended: to all, or it throws and to
/// none.
void runtime::start_threads(const std::vector<std::size_t>& of) {
    for (const std::size_t index : of) {
        if (slots_[index].thread.joinable())
            slots_[index].thread.join(); // it had ended
    }
    const auto gate = std::make_shared<start_gate>();
    std::vector<quiet_thread> started; // joined when it goes
    try {
        started.reserve(of.size());
        for (const std::size_t index : of) {
            started.push_back(start_quiet_thread("rota-worker-" + std::to_string(index),
                                                 [gate, w = slots_[index].shard.get()] {
                                                     if (gate->pass())
                                                         w->run();
                                                 }));
        }
    } catch (...) {
        gate->decide(false);
        throw;
    }
    for (std::size_t i = 0; i < of.size(); ++i) {
        slot& s = slots_[of[i]];
        s.thread = std::move(started[i]);
        if (s.shard->ended())
            s.shard->restart();
    }
    gate->decide(true);
}

void runtime::start() {
    const std::lock_guard guard(lock_);
    if (stopped_)
        throw std::logic_error("runtime: start() after stop()");
    start_unstopped();
}

void runtime::start_unstopped() {
    if (running_)
        return;
    watch_->start();
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < slots_.size(); ++i)
        all.push_back(i);
    start_threads(all);
    running_ = true;
}

void runtime::join() {
    refuse_any_own_thread("join()");
    {
        const std::lock_guard guard(lock_);
        if (!stopped_)
            start_unstopped();
    }
    registry_.wait_empty();
}

bool runtime::is_own_worker() const {
    const worker* const here = worker::current();
    return here != nullptr && worker_at(here->index()) == here;
}

bool runtime::is_helper() const noexcept {
    return blocking_.is_own_thread() || watch_->is_own_thread();
}

void runtime::check_open() const {
    if (stopped_ && !is_own_worker() && !is_helper()) [[unlikely]]
        throw std::logic_error("runtime: spawn() after stop()");
}

void runtime::refuse_own_thread(const char* what) const {
    if (is_own_worker()) {
        throw std::logic_error(std::string("rota: ") + what +
                               " would wait for the worker whose thread it is called on");
    }
}

void runtime::refuse_any_own_thread(const char* what) const {
    refuse_own_thread(what);
    if (is_helper()) {
        throw std::logic_error(std::string("rota: ") + what +
                               " would wait for the thread that it is called on");
    }
}

void runtime::end_program(const std::exception& why) noexcept {
    std::fprintf(stderr, "%s, by a destructor; exit() runs those of statics\n", why.what());
    std::abort();
}

/// Instead of the threads, which cannot be had: runs all there is to its end, and lets go of what
/// that has left with the workers.
void runtime::run_down() noexcept {
    constexpr std::size_t steps = 64;
    while (registry_.size() != 0) {
        std::size_t ran = 0;
        for (slot& s : slots_) {
            worker* const before = s.shard->hold();
            ran += s.shard->turn(steps);
            s.shard->end_turn();
            worker::restore(before);
        }
        if (ran == 0) // they wait for a time, or for threads of the program's
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    for (slot& s : slots_) {
        s.shard->stop();
        s.shard->run();
    }
}

void runtime::stop() {
    refuse_any_own_thread("stop()");
    const std::lock_guard one_at_a_time(stop_lock_);
    registry_.request_stop_all(); // and whatever is spawned from now on
    try {
        start();                      // what was spawned but never started must run, if only to end
    } catch (const std::exception&) { // no threads to be had, or no memory
    }
    bool has_threads = false;
    {
        const std::lock_guard guard(lock_);
        if (stopped_)
            return;
        stopped_ = true; // the workers are from now on those that there are
        has_threads = running_;
    }
    if (!has_threads)
        run_down();
    registry_.wait_empty();
    for (slot& s : slots_)
        s.shard->stop();
    for (slot& s : slots_) {
        if (s.thread.joinable())
            s.thread.join();
    }
    blocking_.stop();
    watch_->stop();
    for ([[maybe_unused]] const slot& s : slots_) {
        ROTA_CHECK(s.shard->places() == 0, "every place on a worker has been given back");
        ROTA_CHECK(s.shard->routines() == 0, "every routine of a worker has been counted out");
    }
}

void runtime::set_workers(std::size_t count) {
    if (count == 0 || count > max_workers) {
        throw std::invalid_argument("runtime: the number of workers must be from 1 to 256");
    }
    const std::lock_guard guard(lock_);
    if (stopped_)
        throw std::logic_error("runtime: set_workers() after stop()");
    while (active_.size() > count) {
        slot& s = slots_[active_.back()];
        active_.pop_back();
        s.active = false;
        s.shard->stop();
    }
    if (active_.size() < count)
        grow(count);
}

/// All that may fail comes first, and what does not have to be undone before what has.
void runtime::grow(std::size_t count) {
    std::vector<std::size_t> added;
    for (std::size_t i = 0; active_.size() + added.size() < count; ++i) {
        if (i == slots_.size())
            add_worker();
        if (!slots_[i].active)
            added.push_back(i);
    }
    std::vector<std::size_t> lack_threads;
    lack_threads.reserve(added.size());
    for (const std::size_t i : added) {
        if (!slots_[i].shard->try_resume()) // else it was still draining, or nothing runs yet
            lack_threads.push_back(i);
    }
    try {
        start_threads(lack_threads);
    } catch (...) {
        for (const std::size_t i : added)
            slots_[i].shard->stop(); // without effect on those that have ended
        throw;
    }
    for (const std::size_t i : added)
        activate(i);
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
