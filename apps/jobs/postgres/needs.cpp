#include "needs.hpp"

#include <algorithm>
#include <variant>

#include "table.hpp"

namespace jobs {
namespace {

namespace op = operations;

/// Payloads may be large, and all that are taken in one transaction are in memory at once.
constexpr std::size_t weight_of_taker = 2;

/// One overload for each operation: what does not compile here has been forgotten.
struct collector {
    postgres_needs& all;
    const store_limits& limits;

    postgres_needs::of_queue& of(const std::string& queue) const { return all.queues[queue]; }
    void leases(const std::string& queue, const std::vector<std::string>& ids) const {
        auto& wanted = of(queue).leases;
        wanted.insert(wanted.end(), ids.begin(), ids.end());
    }
    void looks(const std::string& queue) const {
        of(queue).oldest = true;
        of(queue).counts = true;
    }
    void settings(const std::string& queue) const {
        of(queue).open = true;
        of(queue).settings = true;
        looks(queue); // the answer
    }

    void operator()(const op::add& what) const {
        auto& queue = of(what.queue);
        queue.open = true;
        queue.counts = true; // for the limit
        for (const new_job& job : what.jobs)
            queue.digests.emplace(digest_of(job.key), job.key);
        if (what.token)
            queue.tokens.push_back(what.token->token);
        all.ids += what.jobs.size();
    }
    void operator()(const op::take& what) const {
        for (const take_request& each : what.wanted)
            of(what.queue).takers.push_back(static_cast<std::int64_t>(each.max));
        all.take_bytes_max = limits.take_bytes_max;
    }
    void operator()(const op::settle& what) const {
        leases(what.queue, what.acks);
        for (const retry& each : what.retries)
            of(what.queue).leases.push_back(each.lease_id);
    }
    void operator()(const op::extend& what) const { leases(what.queue, what.leases); }
    void operator()(const op::put_back& what) const {
        leases(what.queue, what.leases);
        of(what.queue).unsure |= what.unsure;
    }
    void operator()(const op::pass_time&) const { all.next_due = true; }
    void operator()(const op::probe& what) const {
        all.to_add = true;
        all.room |= what.after_full;
    }
    void operator()(const op::describe& what) const { looks(what.queue); }
    void operator()(const op::queues& what) const {
        if (std::ranges::find(all.pages, what.what) == all.pages.end())
            all.pages.push_back(what.what);
    }
    void operator()(const op::list& what) const { of(what.queue).list = what.what; }
    void operator()(const op::find& what) const { of(what.queue).read_id = what.id; }
    void operator()(const op::find_key& what) const {
        of(what.queue).key = what.key;
        of(what.queue).key_limit = what.limit;
    }
    void operator()(const op::remove& what) const { of(what.queue).locked_id = what.id; }
    void operator()(const op::configure& what) const { settings(what.queue); }
    void operator()(const op::pause& what) const { settings(what.queue); }
    void operator()(const op::purge& what) const {
        of(what.queue).purge = what.at;
        all.ids += what.at.before == 0 ? 1 : 0;
    }
    void operator()(const op::retry_dead& what) const {
        of(what.queue).dead = dead_request{.ids = std::vector{what.id}};
    }
    void operator()(const op::remove_queue& what) const {
        of(what.queue).settings = true;
        of(what.queue).counts = true;
        of(what.queue).removal = true;
    }
    void operator()(const op::settle_dead& what) const { of(what.queue).dead = what.what; }
};

struct kind_finder {
    step_kind operator()(const op::add&) const { return step_kind::adds; }
    step_kind operator()(const op::take&) const { return step_kind::takes; }
    step_kind operator()(const op::settle&) const { return step_kind::leases; }
    step_kind operator()(const op::extend&) const { return step_kind::leases; }
    /// What waits for others is not to make others wait.
    step_kind operator()(const op::put_back& what) const {
        return what.unsure ? step_kind::single : step_kind::leases;
    }
    step_kind operator()(const op::describe&) const { return step_kind::looks; }
    step_kind operator()(const op::queues&) const { return step_kind::looks; }
    step_kind operator()(const op::pass_time&) const { return step_kind::reading; }
    step_kind operator()(const op::probe&) const { return step_kind::reading; }
    step_kind operator()(const op::list&) const { return step_kind::reading; }
    step_kind operator()(const op::find&) const { return step_kind::reading; }
    step_kind operator()(const op::find_key&) const { return step_kind::reading; }
    template <class Other>
    step_kind operator()(const Other&) const {
        return step_kind::single;
    }
};

struct weight_finder {
    std::size_t operator()(const op::add& what) const { return what.jobs.size(); }
    std::size_t operator()(const op::take& what) const {
        std::size_t sum = what.wanted.size() * weight_of_taker;
        for (const take_request& each : what.wanted)
            sum += each.max;
        return sum;
    }
    std::size_t operator()(const op::settle& what) const {
        return what.acks.size() + what.retries.size();
    }
    std::size_t operator()(const op::extend& what) const { return what.leases.size(); }
    std::size_t operator()(const op::put_back& what) const { return what.leases.size(); }
    template <class Other>
    std::size_t operator()(const Other&) const {
        return 1;
    }
};

} // namespace

void postgres_needs::include(const operations::any& what, const store_limits& limits) {
    std::visit(collector{*this, limits}, what);
    std::visit([this](const auto& each) { now = std::max(now, each.now); }, what);
}

step_kind kind_of(const operations::any& what) noexcept { return std::visit(kind_finder{}, what); }
std::size_t weight_of(const operations::any& what) noexcept {
    return std::visit(weight_finder{}, what);
}

} // namespace jobs
