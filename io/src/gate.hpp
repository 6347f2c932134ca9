#pragma once

#include <cstddef>
#include <mutex>
#include <source_location>

#include <rota/check.hpp>
#include <rota/list_awaiter.hpp>
#include <rota/task.hpp>
#include <rota/wait_list.hpp>

namespace rota::io {

/// Counts what is inside: enter() waits while `limit` are, empty() waits until none is. Any
/// thread.
class gate {
public:
    explicit gate(std::size_t limit) noexcept : limit_(limit) {}

    class awaiter : public list_awaiter {
    public:
        awaiter(gate& g, wait_list& list, bool entering, const char* what,
                std::source_location where) noexcept
            : list_awaiter(g.lock_, list, what, where), gate_(g), entering_(entering) {}
        template <class Promise>
        bool await_suspend(std::coroutine_handle<Promise> self) {
            return wait_unless(self, [this] {
                if (!entering_)
                    return gate_.inside_ == 0;
                if (gate_.inside_ >= gate_.limit_)
                    return false;
                ++gate_.inside_;
                return true;
            });
        }
        void await_resume() { finish(); }

    private:
        gate& gate_;
        const bool entering_;
    };

    /// Goes in, whatever the limit.
    void enter_now() noexcept {
        const std::lock_guard guard(lock_);
        ++inside_;
    }
    /// Goes in, first come first served. Throws operation_cancelled, and is not inside then.
    awaiter enter(std::source_location where = std::source_location::current()) noexcept {
        return {*this, entering_, true, "connection limit", where};
    }
    awaiter empty(std::source_location where = std::source_location::current()) noexcept {
        return {*this, emptying_, false, "drain", where};
    }

    void leave() noexcept {
        waiter* next = nullptr;
        waiter* emptied = nullptr;
        {
            const std::lock_guard guard(lock_);
            ROTA_CHECK(inside_ > 0, "a place is given back once");
            next = entering_.pop_front(); // takes over the place
            if (next == nullptr && --inside_ == 0)
                emptied = emptying_.release();
        }
        if (next != nullptr)
            next->wake();
        wait_list::wake_chain(emptied);
    }

    [[nodiscard]] std::size_t inside() const noexcept {
        const std::lock_guard guard(lock_);
        return inside_;
    }

private:
    const std::size_t limit_;
    mutable std::mutex lock_;
    std::size_t inside_ = 0;
    wait_list entering_;
    wait_list emptying_;
};

/// Waits until none is inside.
inline task<void> until_nobody_in(gate* g) {
    auto emptied = g->empty();
    co_await emptied;
}

} // namespace rota::io
