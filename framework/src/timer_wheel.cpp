#include <rota/detail/timer_wheel.hpp>

#include <algorithm>
#include <bit>
#include <utility>

namespace rota {

std::uint64_t timer_wheel::tick_of(time_point when) const noexcept {
    if (when <= start_)
        return 0;
    // Rounded up: a timer never fires early.
    const auto whole = std::chrono::ceil<std::chrono::milliseconds>(when - start_);
    return static_cast<std::uint64_t>(whole.count());
}

void timer_wheel::arm(timer& t, time_point when) noexcept {
    ROTA_CHECK(!t.armed(), "a timer is armed once");
    ++armed_;
    if (when == time_point::max()) {
        append(t, never_);
        return;
    }
    catch_up(seen_);
    t.tick_ = tick_of(when);
    if (advancing_) {
        t.tick_ = std::max(t.tick_, elapsed_ + 1); // else one that arms itself would never end
    }
    link(t);
}

void timer_wheel::link(timer& t) noexcept {
    timer** head = &due_;
    std::uint64_t looked_at = elapsed_;
    if (t.tick_ > elapsed_) {
        // The level is that of the highest group of six bits in which the tick differs from the
        // present one.
        // What is further away than the last slot before the present one, once round, waits there.
        constexpr std::uint64_t reach = std::uint64_t{slots - 1} << (bits * (levels - 1));
        const std::uint64_t tick = std::min(t.tick_, elapsed_ + reach);
        const std::uint64_t differing = (elapsed_ ^ tick) | (slots - 1);
        const auto highest = 63U - static_cast<unsigned>(std::countl_zero(differing));
        const unsigned level = std::min(highest / bits, levels - 1);
        const auto slot = static_cast<unsigned>((tick >> (bits * level)) & (slots - 1));
        occupied_[level] |= std::uint64_t{1} << slot;
        head = &wheel_[level][slot];
        looked_at = tick >> (bits * level) << (bits * level);
    }
    next_ = std::min(next_, time_of(looked_at));
    append(t, *head);
}

void timer_wheel::append(timer& t, timer*& head) noexcept {
    t.list_ = &head;
    t.next_ = nullptr;
    if (head == nullptr) {
        head = &t;
    } else {
        t.previous_ = head->previous_;
        t.previous_->next_ = &t;
    }
    head->previous_ = &t;
}

timer_wheel::~timer_wheel() {
    const auto empty = [this](timer*& list) {
        while (list != nullptr)
            disarm(*list);
    };
    empty(due_);
    empty(never_);
    for (auto& level : wheel_)
        std::ranges::for_each(level, empty);
    ROTA_CHECK(armed_ == 0, "all that was armed is in one of the lists");
}

void timer_wheel::disarm(timer& t) noexcept {
    if (!t.armed())
        return;
    timer*& head = *t.list_;
    if (head == &t) {
        head = t.next_;
    } else {
        t.previous_->next_ = t.next_;
    }
    if (timer* const after = t.next_ != nullptr ? t.next_ : head; after != nullptr) {
        after->previous_ = t.previous_;
    }
    if (head == nullptr && t.list_ != &never_) {
        next_known_ = false;
        if (t.list_ != &due_) {
            const auto index = static_cast<unsigned>(t.list_ - &wheel_[0][0]);
            occupied_[index / slots] &= ~(std::uint64_t{1} << (index % slots));
        }
    }
    t.list_ = nullptr;
    ROTA_CHECK(armed_ != 0, "only what was armed is disarmed");
    --armed_;
}

bool timer_wheel::find_next(expiry& out) const noexcept {
    for (unsigned level = 0; level < levels; ++level) {
        if (occupied_[level] == 0)
            continue;
        const unsigned shift = bits * level;
        const auto here = static_cast<unsigned>((elapsed_ >> shift) & (slots - 1));
        const auto ahead = static_cast<unsigned>(
            std::countr_zero(std::rotr(occupied_[level], static_cast<int>(here))));
        const unsigned slot = (here + ahead) % slots;
        const std::uint64_t span = std::uint64_t{1} << (shift + bits);
        std::uint64_t tick = (elapsed_ & ~(span - 1)) + (std::uint64_t{slot} << shift);
        if (slot < here)
            tick += span; // the highest level only: its next round
        out = {.level = level, .slot = slot, .tick = tick};
        return true;
    }
    return false;
}

/// Nothing is armed for a tick in between.
void timer_wheel::catch_up(time_point now) noexcept {
    if (now <= start_)
        return;
    // Rounded down: the tick that is under way has not ended.
    const auto whole = std::chrono::floor<std::chrono::milliseconds>(now - start_);
    elapsed_ = std::max(elapsed_, static_cast<std::uint64_t>(whole.count()));
}

std::size_t timer_wheel::turn_to(time_point now) {
    std::size_t fired = 0;
    ROTA_CHECK(!advancing_, "timers fire one after the other");
    advancing_ = true;
    for (;;) {
        while (due_ != nullptr) {
            timer& t = *due_;
            ROTA_CHECK(t.tick_ <= elapsed_, "a timer never fires early");
            disarm(t);
            ++fired;
            t.fire_(t);
        }
        expiry next{};
        if (!find_next(next) || time_of(next.tick) > now)
            break;
        elapsed_ = std::max(elapsed_, next.tick);
        timer* list = std::exchange(wheel_[next.level][next.slot], nullptr);
        occupied_[next.level] &= ~(std::uint64_t{1} << next.slot);
        while (list != nullptr) {
            timer& t = *list;
            list = t.next_;
            link(t); // into due_ if its tick has come, else one level down
        }
    }
    advancing_ = false;
    seen_ = std::max(seen_, now);
    catch_up(seen_);
    find_next();
    return fired;
}

void timer_wheel::find_next() noexcept {
    expiry next{};
    next_ = due_ != nullptr   ? time_of(elapsed_)
            : find_next(next) ? time_of(next.tick)
                              : time_point::max();
    next_known_ = true;
}

} // namespace rota
