#include "wire.hpp"

#include <system_error>
#include <utility>

#include <rota/errors.hpp>
#include <rota/routine.hpp>
#include <rota/with_timeout.hpp>
#include <rota/worker.hpp>

namespace rota::http {
namespace {

/// A buffer that grew beyond this for one batch is given back: idle connections hold little.
constexpr std::size_t kept_capacity_max = 4'096;

} // namespace

void wire::count(std::size_t bytes) noexcept {
    counters_.bytes_sent.add(bytes);
    sent_ += bytes;
}

void wire::clear_pending() noexcept {
    if (pending_.capacity() > kept_capacity_max) {
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

task<void> wire::in_time(task<void> writing) {
    try {
        co_await with_timeout(limits_.send_timeout, std::move(writing));
    } catch (const timed_out&) {
        stream_.abort();
        throw;
    } catch (const std::system_error&) {
        failed_ = true;
        throw;
    }
}

task<void> wire::send() {
    if (try_send())
        co_return;
    const std::size_t size = pending_.size();
    task<void> writing = stream_.write(std::string_view(pending_));
    co_await in_time(std::move(writing));
    count(size);
    clear_pending();
}

task<void> wire::send(std::string_view bytes) {
    if (!try_send())
        co_await send();
    if (!stream_.try_write(bytes)) {
        task<void> writing = stream_.write(bytes);
        co_await in_time(std::move(writing));
    }
    count(bytes.size());
}

task<void> wire::send_owned(std::string bytes) {
    if (!try_send())
        co_await send();
    const std::size_t size = bytes.size();
    task<void> writing = stream_.write_owned(std::move(bytes));
    co_await in_time(std::move(writing));
    count(size);
}

task<void> wire::flush() {
    co_await send();
    try {
        co_await stream_.flush();
    } catch (const std::system_error&) {
        failed_ = true;
        throw;
    }
}

task<void> wire::linger() {
    routine& self = co_await current_routine;
    stream_.shutdown_write();
    const auto until = self.home().now() + limits_.linger_timeout;
    std::uint64_t dropped = 0;
    while (!stream_.peer_closed() && dropped <= limits_.linger_bytes_max) {
        const std::size_t size = buffered().size();
        dropped += size;
        consume(size);
        if (size > 0)
            continue;
        try {
            const bool more = co_await stream_.fill(until);
            if (!more)
                co_return;
        } catch (const timed_out&) {
            co_return;
        }
    }
}

} // namespace rota::http
