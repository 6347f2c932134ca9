#include "world.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace sim {
namespace {

/// A run of this many steps goes round in circles.
constexpr std::uint64_t steps_max = 2'000'000;

double milliseconds_of(time_point t) {
    const auto since = t - time_point(std::chrono::hours(1));
    return std::chrono::duration<double, std::milli>(since).count();
}

} // namespace

world* world::current_ = nullptr;

world::world(const options& o) : options_(o), rng_(o.seed * 0x2545f4914f6cdd1dU + 1) {
    constexpr nanoseconds looks[] = {nanoseconds(0), nanoseconds(50), nanoseconds(2'000),
                                     nanoseconds(40'000), nanoseconds(400'000)};
    look_max_ = rng_.one_of(looks);
    current_ = this;
}

world::~world() { current_ = nullptr; }

time_point world::read_clock() noexcept {
    if (look_max_.count() != 0)
        now_ += nanoseconds(rng_.below(static_cast<std::size_t>(look_max_.count())));
    return now_;
}

fiber& world::start(std::string name, std::function<void()> body) {
    const memory::ample here;
    const auto weight = static_cast<unsigned>(rng_.chance(200) ? 1 : rng_.between(2, 8));
    fibers_.push_back(std::make_unique<fiber>(std::move(name), std::move(body), weight));
    return *fibers_.back();
}

bool world::wait(const char* what, std::function<bool()> ready, time_point until) {
    const memory::ample here;
    fiber& self = *fiber::current();
    self.what = what;
    self.ready = std::move(ready);
    self.until = until;
    self.leave();
    const bool holds = self.ready();
    self.ready = nullptr;
    self.until = {};
    return holds;
}

void world::yield() {
    fiber::current()->what = "its turn";
    fiber::current()->leave();
}

void world::add(actor& a) {
    const memory::ample here;
    actors_.push_back(&a);
}
void world::remove(actor& a) noexcept { std::erase(actors_, &a); }

void world::run(std::function<void()> body) {
    fiber& first = start("main", std::move(body));
    while (!first.ended)
        step();
}

void world::step() {
    constexpr unsigned actor_weight = 5;
    choices_.clear();
    unsigned total = 0;
    for (const auto& f : fibers_) {
        if (!f->ended && (!f->ready || f->until <= now_ || f->ready())) {
            choices_.push_back({f.get(), nullptr, f->weight});
            total += f->weight;
        }
    }
    for (actor* const a : actors_) {
        if (a->due() <= now_) {
            choices_.push_back({nullptr, a, actor_weight});
            total += actor_weight;
        }
    }
    if (choices_.empty()) {
        advance_clock();
        return;
    }
    std::size_t drawn = rng_.below(total);
    std::size_t index = 0;
    while (drawn >= choices_[index].weight)
        drawn -= choices_[index++].weight;
    const choice chosen = choices_[index];
    mix(index);
    mix(static_cast<std::uint64_t>(now_.time_since_epoch().count()));
    if (++steps_ > steps_max)
        fail("it goes round in circles");
    if (chosen.thread != nullptr) {
        note("{}", chosen.thread->name);
        chosen.thread->enter();
    } else {
        chosen.other->step();
    }
    if (check_)
        check_();
}

void world::advance_clock() {
    time_point next = never;
    for (const auto& f : fibers_) {
        if (!f->ended && f->ready)
            next = std::min(next, f->until);
    }
    for (actor* const a : actors_)
        next = std::min(next, a->due());
    if (next == never)
        fail("hang: nothing can go on, and nothing is due");
    now_ = std::max(now_, next);
}

void world::print(std::string_view line) const {
    std::printf("%12.6f %.*s\n", milliseconds_of(now_), static_cast<int>(line.size()), line.data());
}

void world::fail(std::string_view what) {
    const memory::ample here;
    std::printf("seed %llu failed: %.*s\n", static_cast<unsigned long long>(options_.seed),
                static_cast<int>(what.size()), what.data());
    std::printf("  after %llu steps, at %.6f ms\n", static_cast<unsigned long long>(steps_),
                milliseconds_of(now_));
    for (const auto& f : fibers_) {
        if (!f->ended && f.get() != fiber::current())
            std::printf("  %s waits for %s\n", f->name.c_str(), f->what);
    }
    std::printf("  run it again: ./dev sim --seed %llu\n",
                static_cast<unsigned long long>(options_.seed));
    std::fflush(stdout);
    std::_Exit(1);
}

} // namespace sim
