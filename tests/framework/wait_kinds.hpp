#pragma once

// The kinds of waits there are, for tests that put them into everything that awaits.

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include <rota/auto_event.hpp>
#include <rota/broadcast.hpp>
#include <rota/channel.hpp>
#include <rota/distinct_job_queue.hpp>
#include <rota/event.hpp>
#include <rota/inline_scheduler.hpp>
#include <rota/join.hpp>
#include <rota/latch.hpp>
#include <rota/mutex.hpp>
#include <rota/semaphore.hpp>
#include <rota/with_timeout.hpp>

namespace test::waits {

using value = std::unique_ptr<int>;

/// A kind of wait is what it waits for, wait(), serve(), which may be called once, and whole():
/// whether nothing is lost or doubled, given what was delivered (null: nothing).
struct kind {
    explicit kind(rota::inline_scheduler& s) : scheduler(s) {}
    rota::inline_scheduler& scheduler;
    bool served = false;
    /// For what is taken: delivered or there, once, if it has been served.
    [[nodiscard]] bool once(bool delivered, bool there) const {
        return served ? delivered != there : !delivered && !there;
    }
};

struct pop : kind {
    using kind::kind;
    using result = std::optional<value>;
    rota::channel<value> c{1};
    auto wait() { return c.pop(); }
    void serve() { served = c.try_push(std::make_unique<int>(1)); }
    bool whole(const result* got) {
        return once(got != nullptr && *got && **got != nullptr, c.try_pop().has_value());
    }
};

struct pop_from_waiting : kind { // a rendezvous, with a producer that comes
    using kind::kind;
    using result = std::optional<value>;
    rota::channel<value> c{0};
    ~pop_from_waiting() { end(); }
    auto wait() { return c.pop(); }
    void serve() {
        served = true;
        scheduler.spawn(c.push(std::make_unique<int>(1)));
    }
    void end() {
        c.close();
        scheduler.run();
    }
    bool whole(const result* got) {
        scheduler.run();
        return once(got != nullptr && *got && **got != nullptr, c.try_pop().has_value());
    }
};

struct push : kind {
    using result = bool;
    rota::channel<value> c{1};
    explicit push(rota::inline_scheduler& s) : kind(s) {
        static_cast<void>(c.try_push(std::make_unique<int>(0)));
    }
    auto wait() { return c.push(std::make_unique<int>(1)); }
    void serve() { served = c.try_pop().has_value(); }
    bool whole(const result* got) {
        const auto there = c.try_pop();
        const bool pushed = there && **there == 1;
        return pushed == (got != nullptr && *got) && (served || !pushed);
    }
};

struct push_to_waiting : kind { // a rendezvous, with a consumer that comes
    using kind::kind;
    using result = bool;
    rota::channel<value> c{0};
    bool popped = false;
    ~push_to_waiting() { end(); }
    void end() {
        c.close();
        scheduler.run();
    }
    auto wait() { return c.push(std::make_unique<int>(1)); }
    void serve() {
        served = true;
        scheduler.spawn([this]() -> rota::task<void> {
            const std::optional<value> got = co_await c.pop();
            popped = got.has_value();
        });
    }
    bool whole(const result* got) {
        scheduler.run();
        end();
        return popped == (got != nullptr && *got) && (served || !popped);
    }
};

struct lock : kind {
    using result = rota::mutex::guard;
    rota::mutex m;
    std::optional<rota::mutex::guard> held = m.try_lock();
    using kind::kind;
    auto wait() { return m.lock(); }
    void serve() {
        served = true;
        held.reset();
    }
    bool whole(const result* got) {
        return once(got != nullptr && got->owns_lock(), m.try_lock().has_value());
    }
};

struct acquire : kind {
    using result = rota::semaphore::permit;
    rota::semaphore s{1};
    using kind::kind;
    auto wait() { return s.acquire(2); }
    void serve() {
        served = true;
        s.release();
    }
    bool whole(const result* got) {
        return once(got != nullptr && got->count() == 2, s.available() == 2);
    }
};

struct take : kind {
    using result = rota::distinct_job_queue<int>::lease;
    rota::distinct_job_queue<int> q;
    using kind::kind;
    auto wait() { return q.take_up_to(1); }
    void serve() { served = q.add(1); }
    bool whole(const result* got) {
        return once(got != nullptr && got->size() == 1, q.counts().queued == 1);
    }
};

struct notified : kind {
    using result = std::monostate;
    rota::auto_event e;
    using kind::kind;
    auto wait() { return e.wait(); }
    void serve() {
        served = true;
        e.notify();
    }
    bool whole(const result* got) {
        bool there = true;
        try {
            scheduler.run_task(rota::with_timeout(std::chrono::seconds(0), e.wait()));
        } catch (const rota::timed_out&) {
            there = false;
        }
        return once(got != nullptr, there);
    }
};

struct received : kind {
    using result = std::optional<int>;
    rota::broadcast<int> b{1};
    rota::broadcast<int>::receiver r{b};
    using kind::kind;
    auto wait() { return r.next(); }
    void serve() { served = b.send(1) == 1; }
    bool whole(const result* got) {
        b.close();
        const result there = scheduler.run_task(r.next());
        return once(got != nullptr && *got == 1, there == 1) && r.missed() == 0;
    }
};

/// What is only waited for, and not taken.
struct seen : kind {
    using result = std::monostate;
    using kind::kind;
    bool whole(const result* got) { return got == nullptr || served; }
};

struct set : seen {
    rota::event e;
    using seen::seen;
    auto wait() { return e.wait(); }
    void serve() {
        served = true;
        e.set();
    }
};

struct opened : seen {
    rota::latch l{1};
    using seen::seen;
    auto wait() { return l.wait(); }
    void serve() {
        served = true;
        l.count_down();
    }
};

struct joined : seen {
    rota::event e;
    rota::routine_ptr other;
    explicit joined(rota::inline_scheduler& s) : seen(s), other(s.spawn(e.wait())) {}
    ~joined() {
        e.set();
        scheduler.run();
    }
    auto wait() { return rota::join(other); }
    void serve() {
        served = true;
        e.set();
    }
};

struct a_task : seen {
    rota::event e;
    using result = int;
    using seen::seen;
    rota::task<int> wait() {
        co_await e.wait();
        co_return 7;
    }
    void serve() {
        served = true;
        e.set();
    }
    bool whole(const result* got) { return got == nullptr || (served && *got == 7); }
};

struct failing : seen { // ends in an error when it is served
    rota::event e;
    using result = int;
    using seen::seen;
    rota::task<int> wait() {
        co_await e.wait();
        throw std::runtime_error("on purpose");
    }
    void serve() {
        served = true;
        e.set();
    }
    bool whole(const result* got) { return got == nullptr; }
};

template <class K>
inline constexpr bool fails = std::is_same_v<K, failing>;

using kinds = std::tuple<pop, pop_from_waiting, push, push_to_waiting, lock, acquire, take,
                         notified, received, set, opened, joined, a_task, failing>;

inline constexpr auto every_kind = std::make_index_sequence<std::tuple_size_v<kinds>>();

} // namespace test::waits
