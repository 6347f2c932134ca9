// An exhaustive check of the wake-up protocol of rota/worker.hpp and rota/detail/parker.hpp: every
// interleaving of the steps of a worker's thread, producers, a lender, a stopper and one that gives
// a place for a routine back unused, one atomic access a step, in the one order that sequentially
// consistent operations have. What is checked in each state: the baton has one holder; and where
// nothing can go on: no work is left behind, no permit is left over, and a worker that was asked to
// end has ended. Each rule can be switched off, and the check then finds what it is there for.

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include <catch2/catch_test_macros.hpp>

namespace {

enum baton : std::uint8_t { parked, running, lent };
enum word : std::uint8_t { empty, permit, sleeping };

/// Which rules hold.
struct rules {
    bool sleeper_looks_again = true;
    bool lender_looks_again = true;
    bool lender_sees_the_end = true;
    bool giver_looks_for_the_end = true;
    bool permit_is_sticky = true;
    bool lender_takes_by_exchange = true;
};

/// Steps of the worker's thread: the names of what comes next.
enum thread_step : std::uint8_t {
    t_turn,
    t_end,
    t_park,
    t_look_work,
    t_look_end,
    t_retake,
    t_wait,
    t_futex,
    t_asleep,
    t_woken,
    t_timed_out,
    t_exchange_back,
    t_ended
};
/// Of a producer, of the stopper and of the giver; notify() is the last four.
enum producer_step : std::uint8_t { p_add, p_load, p_exchange, p_permit, p_wake, p_done };
/// Of the read side.
enum lender_step : std::uint8_t {
    l_load,
    l_exchange,
    l_turn,
    l_park,
    l_look_end,
    l_look_work,
    l_retake,
    l_notify_load,
    l_hand_over,
    l_permit,
    l_wake,
    l_done
};

constexpr std::size_t producers = 2;
enum class kind : std::uint8_t { producer, stopper, giver };

struct state {
    // shared
    std::uint8_t baton_word = running;
    std::uint8_t parker_word = empty;
    std::uint8_t work = 0; // in the inbox
    // worker::population_: routines that have not ended, a place that is held, and the stop
    std::uint8_t routines = producers;
    std::uint8_t places = 1;
    bool stopping = false;
    // the actors
    std::uint8_t thread = t_turn;
    std::uint8_t producer[producers] = {p_add, p_add};
    std::uint8_t stopper = p_add;
    std::uint8_t giver = p_add;
    std::uint8_t lender = l_load;
    bool woken = false;        // the futex's wake-up has come
    std::uint8_t timeouts = 1; // how often a deadline may still pass
    std::uint8_t spurious = 1; // how often the kernel may still wake for nothing
    std::uint8_t lends = 2;    // how often the read side may still come

    [[nodiscard]] bool drained() const { return stopping && routines + places == 0; }
    void run_all() {
        routines = static_cast<std::uint8_t>(routines - work);
        work = 0;
    }

    /// All of it in a number.
    [[nodiscard]] std::uint64_t key() const {
        std::uint64_t k = 0;
        for (const std::uint8_t part :
             {baton_word, parker_word, work, routines, places, timeouts, spurious, lends}) {
            k = k << 2 | part;
        }
        for (const std::uint8_t part : {thread, lender, stopper, giver, producer[0], producer[1]}) {
            k = k << 4 | part;
        }
        return k << 2 | (stopping ? 2U : 0U) | (woken ? 1U : 0U);
    }
};

class checker {
public:
    explicit checker(rules r) : rules_(r) {}

    /// What is wrong, empty if nothing is.
    std::string run(bool with_stop) {
        state first;
        if (!with_stop) {
            first.stopper = p_done;
        }
        add(first);
        while (!open_.empty() && wrong_.empty()) {
            const state s = open_.back();
            open_.pop_back();
            visit(s, with_stop);
        }
        return wrong_;
    }
    [[nodiscard]] std::size_t states() const { return seen_.size(); }

private:
    void add(const state& s) {
        if (seen_.insert(s.key()).second) {
            open_.push_back(s);
        }
    }

    void visit(const state& s, bool with_stop) {
        const bool thread_holds = s.thread <= t_park;
        const bool lender_holds = s.lender >= l_turn && s.lender <= l_park;
        if (thread_holds && lender_holds) {
            wrong_ = "two hold the baton";
            return;
        }
        const std::size_t before = moves_;
        step_thread(s);
        for (std::size_t p = 0; p < producers; ++p) {
            state next = s;
            if (step_producer(next, next.producer[p], kind::producer)) {
                move(next);
            }
        }
        state next = s;
        if (step_producer(next, next.stopper, kind::stopper)) {
            move(next);
        }
        next = s;
        if (step_producer(next, next.giver, kind::giver)) {
            move(next);
        }
        step_lender(s);
        if (moves_ == before) { // all is still
            if (s.work != 0) {
                wrong_ = "work is left behind";
            } else if (with_stop && s.thread != t_ended) {
                wrong_ = "the worker does not end";
            } else if (!with_stop && (s.baton_word != parked || s.parker_word != sleeping)) {
                wrong_ = "a permit is left over, or the baton is";
            }
        }
    }

    void move(const state& next) {
        ++moves_;
        add(next);
    }

    /// parking::notify(), from the exchange on: true if there was a step.
    bool step_notify(state& s, std::uint8_t& at, std::uint8_t permit_step, std::uint8_t wake_step,
                     std::uint8_t done) {
        if (at == permit_step) {
            const std::uint8_t was = s.parker_word;
            if (rules_.permit_is_sticky || was == sleeping) {
                s.parker_word = permit;
            }
            at = was == sleeping ? wake_step : done;
            return true;
        }
        if (at == wake_step) {
            if (s.thread == t_asleep) {
                s.woken = true;
            }
            at = done;
            return true;
        }
        return false;
    }

    /// worker::post(), worker::stop() and worker::remove_place().
    bool step_producer(state& s, std::uint8_t& at, kind k) {
        switch (at) {
        case p_add:
            at = p_load;
            if (k == kind::stopper) {
                s.stopping = true;
            } else if (k == kind::producer) {
                ++s.work;
            } else {
                --s.places;
                at = s.drained() && rules_.giver_looks_for_the_end ? p_load : p_done;
            }
            return true;
        case p_load:
            at = s.baton_word == parked ? p_exchange : p_done;
            return true;
        case p_exchange:
            if (s.baton_word == parked) {
                s.baton_word = running;
                at = p_permit;
            } else {
                at = p_done;
            }
            return true;
        default:
            return step_notify(s, at, p_permit, p_wake, p_done);
        }
    }

    /// worker::run() with sleep(), await_baton() and parker::wait_until().
    void step_thread(const state& s) {
        state next = s;
        std::uint8_t& at = next.thread;
        switch (s.thread) {
        case t_turn: // a turn takes all there is
            next.run_all();
            at = t_end;
            break;
        case t_end:
            at = s.work != 0 ? t_turn : s.drained() ? t_ended : t_park;
            break;
        case t_park:
            next.baton_word = parked;
            at = rules_.sleeper_looks_again ? t_look_work : t_wait;
            break;
        case t_look_work:
            at = s.work != 0 ? t_retake : t_look_end;
            break;
        case t_look_end:
            at = s.drained() ? t_retake : t_wait;
            break;
        case t_retake:
        case t_exchange_back:
            at = s.baton_word == parked ? t_turn : t_wait;
            if (s.baton_word == parked) {
                next.baton_word = running;
            }
            break;
        case t_wait:
            at = s.parker_word == permit ? t_turn : t_futex;
            next.parker_word = s.parker_word == permit ? empty : sleeping;
            break;
        case t_futex: // the kernel compares and sleeps in one step
            at = s.parker_word == sleeping ? t_asleep : t_woken;
            break;
        case t_asleep:
            step_asleep(s);
            return;
        case t_woken:
            at = s.parker_word == permit ? t_turn : t_futex;
            if (s.parker_word == permit) {
                next.parker_word = empty;
            }
            break;
        case t_timed_out:
            at = s.parker_word == permit ? t_turn : t_exchange_back;
            next.parker_word = empty;
            break;
        default:
            return; // ended
        }
        move(next);
    }

    void step_asleep(const state& s) {
        state next = s;
        next.woken = false;
        if (s.woken) {
            next.thread = t_woken;
            move(next);
        } else if (s.spurious != 0) {
            next.thread = t_woken;
            --next.spurious;
            move(next);
        }
        // A deadline: that of a timer, or the short one while the read side holds the baton.
        if (s.timeouts != 0 || s.baton_word == lent) {
            next = s;
            next.woken = false;
            next.thread = t_timed_out;
            next.timeouts = static_cast<std::uint8_t>(s.timeouts - (s.baton_word == lent ? 0 : 1));
            move(next);
        }
    }

    /// worker::try_lend() and run_lent().
    void step_lender(const state& s) {
        state next = s;
        std::uint8_t& at = next.lender;
        switch (s.lender) {
        case l_load:
            if (s.lends == 0) {
                return;
            }
            --next.lends;
            at = s.baton_word == parked ? l_exchange : l_load;
            break;
        case l_exchange:
            at = l_load;
            if (s.baton_word == parked || !rules_.lender_takes_by_exchange) {
                next.baton_word = lent;
                at = l_turn;
            }
            break;
        case l_turn:
            if (s.work != 0) { // it may be too much: the thread gets it
                state too_much = s;
                too_much.lender = l_hand_over;
                move(too_much);
            }
            next.run_all();
            at = l_park;
            break;
        case l_park:
            next.baton_word = parked;
            at = rules_.lender_sees_the_end ? l_look_end : l_look_work;
            break;
        case l_look_end:
            at = s.drained() ? l_notify_load : l_look_work;
            break;
        case l_look_work:
            at = s.work != 0 && rules_.lender_looks_again ? l_retake : l_load;
            break;
        case l_retake:
            at = s.baton_word == parked ? l_turn : l_load;
            if (s.baton_word == parked) {
                next.baton_word = lent;
            }
            break;
        case l_notify_load: // notify(), as one exchange: its load only saves one
            at = s.baton_word == parked ? l_permit : l_load;
            if (s.baton_word == parked) {
                next.baton_word = running;
            }
            break;
        case l_hand_over:
            next.baton_word = running;
            at = l_permit;
            break;
        default:
            if (!step_notify(next, at, l_permit, l_wake, l_load)) {
                return;
            }
        }
        move(next);
    }

    const rules rules_;
    std::unordered_set<std::uint64_t> seen_;
    std::vector<state> open_;
    std::size_t moves_ = 0;
    std::string wrong_;
};

} // namespace

TEST_CASE("the wake-up protocol loses nothing in any interleaving") {
    for (const bool with_stop : {false, true}) {
        checker c{rules{}};
        REQUIRE(c.run(with_stop) == "");
        REQUIRE(c.states() > 1000);
    }
}

TEST_CASE("each rule of the protocol is needed") {
    rules r;
    r.sleeper_looks_again = false;
    REQUIRE(checker(r).run(false) == "work is left behind");
    r = {};
    r.lender_looks_again = false;
    REQUIRE(checker(r).run(false) == "work is left behind");
    r = {};
    r.lender_sees_the_end = false;
    REQUIRE(checker(r).run(true) == "the worker does not end");
    r = {};
    r.giver_looks_for_the_end = false;
    REQUIRE(checker(r).run(true) == "the worker does not end");
    r = {};
    r.permit_is_sticky = false;
    REQUIRE_FALSE(checker(r).run(false).empty());
    r = {};
    r.lender_takes_by_exchange = false;
    REQUIRE_FALSE(checker(r).run(false).empty());
}
