#include <rota/blocked_tasks.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include <rota/executor.hpp>

namespace rota {

/// One look at the blocker, and the wait that may follow it.
class blocked_tasks::awaiter : waiter {
public:
    awaiter(shard& s, blocker& b, std::source_location where) noexcept
        : shard_(s), blocker_(b), where_(where) {}
    awaiter(const awaiter&) = delete;
    awaiter& operator=(const awaiter&) = delete;

    bool await_ready() const noexcept { return false; }

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> self) {
        const std::stop_token& token = self.promise().stop_token();
        if (token.stop_requested()) {
            cancelled = true;
            return false;
        }
        owner = &self.promise().current_routine();
        {
            const std::lock_guard guard(shard_.lock);
            if (!blocker_.is_blocked()) {
                passed_ = true;
                return false;
            }
            entry& e = shard_.entries[&blocker_];
            owner->suspend(self, "blocker", where_, &blocker_);
            e.waiters.push_back(*this);
            ++e.count;
        }
        on_stop_.emplace(token, canceller{this});
        return true;
    }

    /// True if the blocker was found unblocked; false after a wake-up: look again.
    bool await_resume() {
        on_stop_.reset();
        if (cancelled)
            throw operation_cancelled();
        return passed_;
    }

private:
    struct canceller {
        awaiter* self;
        void operator()() const noexcept {
            {
                const std::lock_guard guard(self->shard_.lock);
                if (!self->queued)
                    return;
                const auto found = self->shard_.entries.find(&self->blocker_);
                found->second.waiters.remove(*self);
                if (--found->second.count == 0)
                    self->shard_.entries.erase(found);
                self->cancelled = true;
            }
            self->wake();
        }
    };

    shard& shard_;
    blocker& blocker_;
    std::source_location where_;
    bool passed_ = false;
    std::optional<std::stop_callback<canceller>> on_stop_;
};

task<void> blocked_tasks::wait(blocker& b, std::source_location where) {
    for (;;) {
        awaiter look(shard_of(b), b, where);
        const bool passed = co_await look;
        if (passed)
            co_return;
    }
}

void blocked_tasks::unblocked(blocker& b) noexcept {
    shard& s = shard_of(b);
    waiter* waiters = nullptr;
    {
        const std::lock_guard guard(s.lock);
        const auto found = s.entries.find(&b);
        if (found == s.entries.end() || b.is_blocked())
            return;
        waiters = found->second.waiters.release();
        s.entries.erase(found);
    }
    wait_list::wake_chain(waiters);
}

std::vector<blocked_group> blocked_tasks::groups() const {
    std::vector<blocked_routine> all = registry_.blocked();
    using key = std::tuple<const void*, std::string_view, std::string_view, std::uint32_t>;
    std::map<key, std::vector<blocked_routine*>> found;
    for (blocked_routine& r : all)
        found[{r.on, r.what, r.file, r.line}].push_back(&r);
    std::vector<blocked_group> result;
    result.reserve(found.size());
    for (auto& [what, waiters] : found) {
        std::ranges::stable_sort(waiters, {}, &blocked_routine::since);
        blocked_group group;
        group.waiters.reserve(waiters.size());
        for (blocked_routine* const r : waiters)
            group.waiters.push_back(*r);
        result.push_back(std::move(group));
    }
    std::ranges::stable_sort(result, [](const blocked_group& a, const blocked_group& b) {
        return a.waiters.size() > b.waiters.size();
    });
    return result;
}

std::size_t blocked_tasks::size() const {
    std::size_t count = 0;
    for (const shard& s : shards_) {
        const std::lock_guard guard(s.lock);
        count += s.entries.size();
    }
    return count;
}

std::size_t blocked_tasks::waiting(const blocker& b) const {
    const shard& s = shard_of(b);
    const std::lock_guard guard(s.lock);
    const auto found = s.entries.find(&b);
    return found == s.entries.end() ? 0 : found->second.count;
}

const blocked_tasks::shard& blocked_tasks::shard_of(const blocker& b) const noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(&b);
    return shards_[(address >> 6) % shard_count];
}

blocked_tasks::shard& blocked_tasks::shard_of(const blocker& b) noexcept {
    return const_cast<shard&>(std::as_const(*this).shard_of(b));
}

} // namespace rota
