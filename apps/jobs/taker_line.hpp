#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <source_location>
#include <utility>
#include <vector>

#include <rota/list_awaiter.hpp>
#include <rota/wait_list.hpp>

#include "store.hpp"

namespace jobs {

/// Consumers of one queue that wait for jobs, served first come first served.
///
/// One of them, the leader, asks the store when there may be jobs, for all that stand in the line
/// at that moment and in their order; so what a change sets free costs one step of the store,
/// however many wait. A consumer that has been served leaves; then the first of the rest leads, if
/// something has changed meanwhile. One that does not want to wait stands in the line like the
/// others, so that none before it goes empty, until the store has been asked once. Any thread.
class taker_line {
public:
    /// A consumer's place in the line. Made by join(), ended by leave().
    class place {
    public:
        place(take_request w, bool waits, std::uint64_t number) noexcept
            : wanted_(w), waits_(waits), number_(number) {}

    private:
        friend class taker_line;
        const take_request wanted_;
        const bool waits_;
        const std::uint64_t number_; // counts up in the line
        // under the line's lock
        std::vector<taken_job> jobs_;
        bool served_ = false;
        bool refused_ = false; // does not wait, and there was nothing
        bool leads_ = false;
        bool left_ = false;
        rota::wait_list waiting_; // its consumer, while that waits
    };
    using place_ptr = std::shared_ptr<place>;

    /// The awaiter that turn() returns.
    class [[nodiscard]] turn_awaiter final : public rota::list_awaiter {
    public:
        turn_awaiter(taker_line& line, place& of, std::source_location where) noexcept
            : list_awaiter(line.lock_, of.waiting_, "jobs::take", where), of_(of) {}
        template <class Promise>
        bool await_suspend(std::coroutine_handle<Promise> self) {
            return wait_unless(self, [this] { return of_.served_ || of_.refused_ || of_.leads_; });
        }
        void await_resume() { finish(); }

    private:
        place& of_;
    };

    /// Returns true if there are no waiting consumers.
    [[nodiscard]] bool empty() const;
    /// Joins the line. `waits`: until there are jobs; else until the store has been asked.
    [[nodiscard]] place_ptr join(take_request wanted, bool waits = true);
    /// `co_await line.turn(*p)` waits until its jobs are there, or it leads, or it does not wait
    /// and there was nothing. Throws operation_cancelled.
    turn_awaiter turn(place& of,
                      std::source_location where = std::source_location::current()) noexcept {
        return {*this, of, where};
    }
    /// Returns the jobs that have come for it, if any, and takes them out.
    [[nodiscard]] std::vector<taken_job> jobs(place& of);
    /// Returns true if it does not wait, and there was nothing for it.
    [[nodiscard]] bool refused(const place& of) const;
    /// Returns the consumers that the leader asks for: itself and those after it, up to `count`.
    [[nodiscard]] std::vector<place_ptr> ask(std::size_t count);
    [[nodiscard]] static take_request wanted(const place& of) noexcept { return of.wanted_; }
    /// Answers ask(), and ends leading: hands out what the store gave, in the line's order. If the
    /// last got something there may be more, for those that were not asked for. Returns the leases
    /// of jobs whose consumers have left meanwhile.
    [[nodiscard]] std::vector<std::string> answer(const std::vector<place_ptr>& asked,
                                                  std::vector<std::vector<taken_job>> jobs);
    /// Ends the place: nothing more comes for it; if it leads, the next does. Returns what has come
    /// and was not fetched by jobs().
    [[nodiscard]] std::vector<taken_job> leave(place& of) noexcept;
    /// Notes that there may be jobs.
    void changed() noexcept;
    /// Tells all that stand in the line that there is nothing for them.
    void dismiss() noexcept;

private:
    void appoint() noexcept;

    mutable std::mutex lock_; // guards what follows
    std::deque<place_ptr> line_;
    std::uint64_t joined_ = 0;      // so far
    std::uint64_t asked_until_ = 0; // the last that had joined when the store was asked
    bool led_ = false;
    bool changed_ = false; // since the store was asked
};

} // namespace jobs
