#include "live_feed.hpp"

#include <utility>

#include <rota/sleep.hpp>
#include <rota/worker.hpp>

namespace rota_http {

live_feed::issue live_feed::recent(std::uint64_t seen, time_point now) const {
    const std::lock_guard guard(lock_);
    if (latest_.number > seen && now < made_at_ + interval_)
        return latest_;
    return {};
}

rota::task<live_feed::issue> live_feed::next(std::uint64_t seen) {
    issue found = recent(seen, rota::worker::current()->now());
    if (found.text)
        co_return std::move(found);
    const rota::mutex::guard held = co_await making_.lock();
    found = recent(seen, rota::worker::current()->now());
    if (found.text)
        co_return std::move(found);
    time_point due;
    {
        const std::lock_guard guard(lock_);
        due = made_at_ + interval_;
    }
    if (due > rota::worker::current()->now()) {
        co_await rota::sleep_until(due);
    }
    std::string made = co_await make_();
    auto text = std::make_shared<const std::string>(std::move(made));
    const std::lock_guard guard(lock_);
    made_at_ = rota::worker::current()->now();
    ++latest_.number;
    latest_.text = std::move(text);
    found = latest_;
    co_return std::move(found);
}

} // namespace rota_http
