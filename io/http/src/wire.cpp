#include <rota/http/detail/kept_text.hpp>
#include <rota/http/detail/wire.hpp>

#include <algorithm>
#include <stop_token>
#include <system_error>
#include <utility>

#include <rota/detail/timer_wheel.hpp>
#include <rota/errors.hpp>
#include <rota/linked_stop.hpp>
#include <rota/routine.hpp>
#include <rota/worker.hpp>

namespace rota::http {
namespace {

/// So often is looked how a client gets on, in the time that it has.
constexpr int looks = 8;

/// Requests the stop of a write once the client has been too slow in taking what was sent, or when
/// `parent` is requested. Under the baton of `home`.
class slow_client_watch : private timer {
public:
    slow_client_watch(worker& home, const std::stop_token& parent, const io::stream& client,
                      const server_limits& limits)
        : timer(&fire), home_(home), client_(client), limits_(limits),
          patience_(limits.send_timeout, home.now(), client.progress().taken), stop_(parent) {
        arm(limits.send_timeout);
    }
    ~slow_client_watch() { home_.timers().disarm(*this); }
    slow_client_watch(const slow_client_watch&) = delete;
    slow_client_watch& operator=(const slow_client_watch&) = delete;

    [[nodiscard]] const std::stop_token& token() const noexcept { return stop_.token(); }
    [[nodiscard]] bool too_slow() const noexcept { return too_slow_; }

private:
    static void fire(timer& self) noexcept { static_cast<slow_client_watch&>(self).look(); }

    void look() noexcept {
        const auto left = patience_.look(limits_.send_timeout, limits_.send_rate_min_bytes_per_s,
                                         home_.now(), client_.progress().taken);
        if (left > io::send_patience::duration::zero()) {
            arm(left);
            return;
        }
        too_slow_ = true;
        stop_.request_stop();
    }

    void arm(io::send_patience::duration left) noexcept {
        const io::send_patience::duration step = limits_.send_timeout / looks;
        home_.timers().arm(*this, deadline_after(home_.now(), std::min(left, step)));
    }

    worker& home_;
    const io::stream& client_;
    const server_limits& limits_;
    io::send_patience patience_;
    bool too_slow_ = false;
    linked_stop<1> stop_;
};

} // namespace

void wire::count(std::size_t bytes) noexcept {
    counters_.bytes_sent.add(bytes);
    sent_ += bytes;
}

void wire::clear_pending() noexcept {
    if (pending_.capacity() > detail::kept_capacity_max) {
        std::string().swap(pending_);
    } else {
        pending_.clear();
    }
}

bool wire::try_send() {
    if (pending_.empty())
        return true;
    if (!stream_.try_write(pending_))
        return false;
    count(pending_.size());
    clear_pending();
    return true;
}

bool wire::try_send(std::string_view bytes) {
    if (!try_send() || !stream_.try_write(bytes))
        return false;
    count(bytes.size());
    return true;
}

bool wire::try_send_last(std::string_view bytes) {
    if (!try_send() || !stream_.try_write_last(bytes))
        return false;
    count(bytes.size());
    return true;
}

task<void> wire::in_time(task<void> writing) {
    routine& self = co_await current_routine;
    const std::stop_token parent = co_await current_stop_token;
    slow_client_watch watch(self.home(), parent, stream_, limits_);
    bool slow = false;
    try {
        co_await writing.under(watch.token());
    } catch (const operation_cancelled&) {
        slow = watch.too_slow() && !parent.stop_requested();
        if (!slow)
            throw;
    }
    if (slow) {
        stream_.abort();
        throw timed_out();
    }
}

/// Counts what has been handed over when it fails, too: it may be long, and most of it on its way.
task<void> wire::counted(task<void> writing, std::uint64_t size) {
    const io::send_progress before = stream_.progress();
    try {
        co_await in_time(std::move(writing));
    } catch (...) {
        const io::send_progress now = stream_.progress();
        const std::uint64_t had = before.taken + before.left;
        const std::uint64_t has = now.taken + now.left; // less, if what was queued has been dropped
        count(has > had ? std::min(has - had, size) : 0);
        throw;
    }
    count(size);
}

bool wire::still_takes() {
    const io::send_progress progress = stream_.progress();
    if (progress.left <= 1) { // the end of the stream counts for one
        patience_.reset();
        return false;
    }
    const auto now = worker::current()->now();
    if (!patience_) {
        patience_.emplace(limits_.send_timeout, now, progress.taken);
        return true;
    }
    const auto left = patience_->look(limits_.send_timeout, limits_.send_rate_min_bytes_per_s, now,
                                      progress.taken);
    if (left > io::send_patience::duration::zero())
        return true;
    stream_.abort();
    throw timed_out();
}

task<void> wire::send(io::deadline until) {
    if (try_send())
        co_return;
    const std::size_t size = pending_.size();
    if (until) { // nothing has been queued when that passes
        task<void> writing = stream_.write(std::string_view(pending_), until);
        co_await in_time(std::move(writing));
        count(size);
        clear_pending();
        co_return;
    }
    // Once it has begun to wait all of it is queued, and stays so when the wait is given up.
    const std::stop_token stop = co_await current_stop_token;
    if (stop.stop_requested())
        throw operation_cancelled();
    task<void> writing = stream_.write_owned(std::exchange(pending_, {}));
    co_await counted(std::move(writing), size);
}

task<void> wire::send(std::string_view bytes, io::deadline until) {
    if (!try_send())
        co_await send(until);
    if (!stream_.try_write(bytes)) {
        task<void> writing = stream_.write(bytes, until);
        co_await in_time(std::move(writing));
    }
    count(bytes.size());
}

bool wire::try_send_shared(const io::shared_bytes& bytes) {
    if (!stream_.try_write_shared(pending_, bytes))
        return false;
    count(pending_.size() + bytes.size());
    clear_pending();
    return true;
}

bool wire::try_send_shared(std::string_view before, const io::shared_bytes& bytes) {
    if (!try_send() || !stream_.try_write_shared(before, bytes))
        return false;
    count(before.size() + bytes.size());
    return true;
}

task<void> wire::send_shared(io::shared_bytes bytes, io::deadline until) {
    if (!try_send())
        co_await send(until);
    const std::size_t size = bytes.size();
    task<void> writing = stream_.write_shared(std::move(bytes), until);
    co_await counted(std::move(writing), size);
}

bool wire::try_send_file(const io::file_slice& content) {
    if (!stream_.try_write_file(pending_, content))
        return false;
    count(pending_.size() + content.size);
    clear_pending();
    return true;
}

task<void> wire::send_file(const io::file_slice* content) {
    if (!try_send())
        co_await send();
    task<void> writing = stream_.write_file(*content);
    co_await counted(std::move(writing), content->size);
}

task<void> wire::send_owned(std::string bytes, io::deadline until) {
    if (!try_send())
        co_await send(until);
    const std::size_t size = bytes.size();
    task<void> writing = stream_.write_owned(std::move(bytes), until);
    co_await in_time(std::move(writing));
    count(size);
}

task<void> wire::flush(io::deadline until) {
    co_await send(until);
    task<void> flushing = stream_.flush(until);
    co_await in_time(std::move(flushing));
}

task<void> wire::linger(std::chrono::milliseconds limit) {
    routine& self = co_await current_routine;
    stream_.shutdown_write();
    auto until = self.home().now() + limit;
    std::uint64_t dropped = 0;
    while (!stream_.peer_closed() && dropped <= limits_.linger_bytes_max) {
        const std::size_t size = buffered().size();
        dropped += size;
        consume(size);
        if (size > 0)
            continue;
        bool late = false;
        try {
            const bool more = co_await stream_.fill(until);
            if (!more)
                co_return;
        } catch (const timed_out&) {
            late = true;
        }
        if (late && !still_takes())
            co_return;
        if (late)
            until = self.home().now() + limit;
    }
}

} // namespace rota::http
