#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <source_location>
#include <vector>

#include <rota/list_awaiter.hpp>
#include <rota/wait_list.hpp>

#include "job_types.hpp"

namespace jobs {

struct event {
    std::uint64_t number = 0; ///< without gaps in a log; the next log of a queue continues beyond
                              ///< it
    change_kind kind = change_kind::added;
    std::uint64_t job = 0; ///< 0: of the queue
    std::uint32_t attempt = 0;
    time_ms at = 0;
};

/// The latest events of a queue, for clients that watch it. Any thread.
class event_log {
public:
    /// `last`: the number of the last event so far, which counts as not kept.
    explicit event_log(std::size_t kept, std::uint64_t last = 0) : kept_(kept), last_(last) {}

    class [[nodiscard]] later_awaiter final : public rota::list_awaiter {
    public:
        later_awaiter(event_log& log, std::uint64_t number, std::source_location where) noexcept
            : list_awaiter(log.lock_, log.waiting_, "jobs::events", where), log_(log),
              number_(number) {}
        template <class Promise>
        bool await_suspend(std::coroutine_handle<Promise> self) {
            return wait_unless(self, [this] { return log_.last_ > number_; });
        }
        void await_resume() { finish(); }

    private:
        event_log& log_;
        std::uint64_t number_;
    };

    /// Adds an event. If there is no memory for one more, none is kept, as if that many had come
    /// since.
    void add(const change& what) noexcept;
    /// Returns the number of the last event, 0 if there was none.
    [[nodiscard]] std::uint64_t last() const;
    /// Returns the number of the last event that is not kept, 0 if all are.
    [[nodiscard]] std::uint64_t last_gone() const;
    /// Returns the events after `number`, up to `limit`, as far as they are kept.
    [[nodiscard]] std::vector<event> after(std::uint64_t number, std::size_t limit) const;
    /// `co_await log.later(n)` waits until there is an event after number n. Throws
    /// operation_cancelled.
    later_awaiter later(std::uint64_t number,
                        std::source_location where = std::source_location::current()) noexcept {
        return {*this, number, where};
    }

private:
    const std::size_t kept_;
    mutable std::mutex lock_; // guards what follows
    rota::wait_list waiting_;
    std::deque<event> events_;
    std::uint64_t last_;
};

} // namespace jobs
