#include "taker_line.hpp"

#include <algorithm>

#include <rota/check.hpp>

namespace jobs {

bool taker_line::empty() const {
    const std::lock_guard guard(lock_);
    return line_.empty();
}

taker_line::place_ptr taker_line::join(take_request wanted, bool waits) {
    const std::lock_guard guard(lock_);
    auto joined = std::make_shared<place>(wanted, waits, joined_++);
    line_.push_back(joined);
    changed_ = true; // for this one nobody has asked yet
    appoint();
    return joined;
}

/// The first leads, if there is a reason and nobody does. Under the lock.
void taker_line::appoint() noexcept {
    if (led_ || !changed_ || line_.empty())
        return;
    led_ = true;
    place& first = *line_.front();
    ROTA_CHECK(!first.served_ && !first.refused_ && !first.left_ && !first.leads_,
               "a consumer in the line waits for jobs");
    first.leads_ = true;
    rota::wait_list::wake_one(first.waiting_.pop_front());
}

std::vector<taken_job> taker_line::jobs(place& of) {
    const std::lock_guard guard(lock_);
    return std::exchange(of.jobs_, {});
}

bool taker_line::refused(const place& of) const {
    const std::lock_guard guard(lock_);
    return of.refused_;
}

std::vector<taker_line::place_ptr> taker_line::ask(std::size_t count) {
    const std::lock_guard guard(lock_);
    changed_ = false;
    asked_until_ = joined_;
    const auto end = line_.begin() + static_cast<std::ptrdiff_t>(std::min(count, line_.size()));
    return {line_.begin(), end};
}

std::vector<std::string> taker_line::answer(const std::vector<place_ptr>& asked,
                                            std::vector<std::vector<taken_job>> jobs) {
    ROTA_CHECK_ALWAYS(asked.size() == jobs.size(), "the store answers for each that was asked for");
    std::vector<std::string> unwanted;
    const bool exhausted = jobs.empty() || jobs.back().empty();
    const std::lock_guard guard(lock_);
    std::size_t count = 0;
    for (std::size_t i = 0; i < asked.size(); ++i)
        count += asked[i]->left_ ? jobs[i].size() : 0;
    unwanted.reserve(count); // so that nothing below throws: one leads, or none does
    for (std::size_t i = 0; i < asked.size(); ++i) {
        place& p = *asked[i];
        p.leads_ = false;
        if (jobs[i].empty())
            continue;
        if (p.left_) {
            for (taken_job& job : jobs[i])
                unwanted.push_back(std::move(job.lease_id));
            continue;
        }
        p.jobs_ = std::move(jobs[i]);
        p.served_ = true;
        rota::wait_list::wake_one(p.waiting_.pop_front());
    }
    for (const place_ptr& p : line_) {
        if (exhausted && !p->waits_ && !p->served_ && p->number_ < asked_until_) {
            p->refused_ = true;
            rota::wait_list::wake_one(p->waiting_.pop_front());
        }
    }
    std::erase_if(line_, [](const place_ptr& p) { return p->served_ || p->refused_; });
    changed_ |= !exhausted && !line_.empty() && line_.front()->number_ < asked_until_;
    led_ = false;
    appoint();
    return unwanted;
}

std::vector<taken_job> taker_line::leave(place& of) noexcept {
    const std::lock_guard guard(lock_);
    of.left_ = true;
    if (!of.served_ && !of.refused_)
        std::erase_if(line_, [&](const place_ptr& p) { return p.get() == &of; });
    if (of.leads_) { // what it asked for may not have been answered
        of.leads_ = false;
        led_ = false;
        changed_ = true;
        appoint();
    }
    return std::exchange(of.jobs_, {});
}

void taker_line::dismiss() noexcept {
    const std::lock_guard guard(lock_);
    for (const place_ptr& p : line_) {
        p->refused_ = true;
        rota::wait_list::wake_one(p->waiting_.pop_front());
    }
    line_.clear(); // the leader answers or leaves all the same
}

void taker_line::changed() noexcept {
    const std::lock_guard guard(lock_);
    changed_ = true;
    appoint();
}

} // namespace jobs
