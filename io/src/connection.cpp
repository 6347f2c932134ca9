#include <rota/io/connection.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <stop_token>
#include <system_error>
#include <utility>

#include <rota/errors.hpp>
#include <rota/routine.hpp>
#include <rota/with_timeout.hpp>

#include "connection_core.hpp"

namespace rota::io {
namespace {

/// Much of this size is queued without asking the system for memory each time.
constexpr std::size_t slice_bytes = 65'536;

/// Of a file so much is queued at once: the worker looks whether it is in memory no more often.
constexpr std::size_t segment_bytes = 1'048'576;

[[noreturn]] void throw_failure(const output& out) {
    const int error = out.error();
    if (error == 0 && out.is_cut())
        throw std::system_error(ECANCELED, std::system_category(),
                                "write: behind one that was cut");
    throw std::system_error(error != 0 ? error : EPIPE, std::system_category(), "write");
}

task<void> until_below_high_water(output& out, std::source_location where) {
    co_await out.below_high_water(where);
}

task<void> until_empty(output& out, std::source_location where) { co_await out.empty(where); }

/// Waits for room; nothing of what is to be queued is yet. Throws timed_out.
task<void> room(output& out, std::chrono::steady_clock::time_point until,
                std::source_location where) {
    if (!out.is_below_high_water()) {
        task<void> waiting = until_below_high_water(out, where);
        co_await with_deadline(until, std::move(waiting));
    }
    if (out.error() != 0)
        throw_failure(out);
}

/// Queues what `queue` does, with a deadline once there is room, else before it waits for that.
template <class Queue>
task<void> queue_whole(output* out, Queue queue, deadline until) {
    const std::stop_token stop = co_await current_stop_token;
    if (stop.stop_requested())
        throw operation_cancelled();
    const auto where = std::source_location::current();
    if (until)
        co_await room(*out, *until, where);
    if (!queue(*out))
        throw_failure(*out);
    if (until)
        co_return;
    co_await out->below_high_water(where);
    if (out->error() != 0)
        throw_failure(*out);
}

void check_alive(const connection_core& core, const char* what) {
    if (core.dead())
        throw std::system_error(ECONNABORTED, std::system_category(), what);
}

/// Sees to it that nothing follows a beginning.
struct whole_or_cut {
    output& out;
    std::uint64_t rest;
    bool begun = false;
    ~whole_or_cut() {
        if (begun && rest > 0)
            out.cut();
    }
};

} // namespace

connection::connection(connection&& other) noexcept : stream(std::move(other)) {
    if (other.core_ != nullptr)
        other.core_->check_move(); // it would go on in what was moved from
    core_ = std::exchange(other.core_, nullptr);
}

connection& connection::operator=(connection&& other) noexcept {
    if (this != &other) {
        if (other.core_ != nullptr)
            other.core_->check_move();
        if (core_ != nullptr)
            core_->let_go();
        core_ = std::exchange(other.core_, nullptr);
        stream::operator=(std::move(other));
    }
    return *this;
}

connection::~connection() {
    if (core_ != nullptr)
        core_->let_go();
}

std::string_view connection::buffered() const noexcept { return core_->buffered(); }

void connection::consume(std::size_t bytes) noexcept {
    forget_shown(bytes);
    core_->consume(bytes);
}

task<bool> connection::fill(deadline until) {
    drop_shown();
    return core_->fill(until, std::source_location::current());
}

task<bool> connection::fill_more(deadline until) {
    drop_shown();
    return core_->fill_more(until, std::source_location::current());
}

bool connection::peer_closed() const noexcept { return core_->peer_closed(); }

bool connection::failed() const noexcept { return core_->failed(); }

task<void> connection::write(std::string_view bytes, deadline until) {
    const std::stop_token stop = co_await current_stop_token;
    if (stop.stop_requested())
        throw operation_cancelled();
    const auto where = std::source_location::current();
    output& out = core_->out();
    whole_or_cut all{out, bytes.size()};
    // In slices, so that what is queued stays in bounds however much there is to write.
    do {
        if (until)
            co_await room(out, *until, where);
        const std::string_view slice = bytes.substr(bytes.size() - all.rest, slice_bytes);
        if (!out.queue(slice, true))
            throw_failure(out);
        all.begun = true;
        all.rest -= slice.size();
        if (until)
            continue;
        co_await out.below_high_water(where);
        if (out.error() != 0)
            throw_failure(out);
    } while (all.rest > 0);
}

task<void> connection::write_owned(std::string bytes, deadline until) {
    return queue_whole(
        &core_->out(),
        [bytes = std::move(bytes)](output& out) mutable {
            return out.queue_owned(std::move(bytes));
        },
        until);
}

task<void> connection::write_shared(shared_bytes bytes, deadline until) {
    return queue_whole(
        &core_->out(),
        [bytes = std::move(bytes)](output& out) mutable {
            return out.queue_shared({}, std::move(bytes), true);
        },
        until);
}

task<void> connection::write_file(file_slice part, deadline until) {
    const std::stop_token stop = co_await current_stop_token;
    if (stop.stop_requested())
        throw operation_cancelled();
    const auto where = std::source_location::current();
    output& out = core_->out();
    whole_or_cut all{out, part.size};
    while (all.rest > 0) {
        file_slice segment = part;
        segment.offset += part.size - all.rest;
        segment.size = std::min<std::uint64_t>(all.rest, segment_bytes);
        if (!is_in_memory(segment))
            co_await bring_in(&segment);
        if (until)
            co_await room(out, *until, where);
        const bool last = segment.size == all.rest;
        if (!out.queue_file({}, segment, last, all.begun, true))
            throw_failure(out);
        all.begun = true;
        all.rest -= segment.size;
        if (until)
            continue;
        co_await out.below_high_water(where);
        if (out.error() != 0)
            throw_failure(out);
    }
}

bool connection::try_write(std::string_view bytes) { return core_->out().queue(bytes, false); }

bool connection::try_write_last(std::string_view bytes) { return core_->out().queue(bytes, true); }

bool connection::try_write_shared(std::string_view before, const shared_bytes& bytes) {
    return core_->out().queue_shared(before, bytes, false);
}

bool connection::has_room(std::size_t bytes) const noexcept { return core_->out().has_room(bytes); }

bool connection::try_write_file(std::string_view before, const file_slice& part) {
    // What is read into memory when it is opened, as http::files() does, need not be looked for.
    constexpr std::uint64_t looked_for = 262'144;
    if (part.size > segment_bytes || (part.size > looked_for && !is_in_memory(part)))
        return false;
    return core_->out().queue_file(before, part, true, false, false);
}

task<void> connection::flush(deadline until) {
    const auto where = std::source_location::current();
    output& out = core_->out();
    if (until) {
        task<void> waiting = until_empty(out, where);
        co_await with_deadline(*until, std::move(waiting));
    } else {
        co_await out.empty(where);
    }
    if (out.error() != 0)
        throw_failure(out);
}

send_progress connection::progress() const noexcept { return core_->out().progress(); }

void connection::rest() noexcept { core_->out().slim(); }

void connection::shutdown_write() noexcept { core_->out().shutdown(); }

void connection::abort() noexcept { core_->abort(); }

endpoint connection::peer() const {
    check_alive(*core_, "getpeername");
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    if (::getpeername(core_->fd(), reinterpret_cast<sockaddr*>(&address), &length) != 0) {
        throw std::system_error(errno, std::system_category(), "getpeername");
    }
    return endpoint::from(reinterpret_cast<sockaddr*>(&address), length);
}

endpoint connection::local() const {
    check_alive(*core_, "getsockname");
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    if (::getsockname(core_->fd(), reinterpret_cast<sockaddr*>(&address), &length) != 0) {
        throw std::system_error(errno, std::system_category(), "getsockname");
    }
    return endpoint::from(reinterpret_cast<sockaddr*>(&address), length);
}

int connection::native_handle() const noexcept { return core_->fd(); }

worker& connection::home() const {
    check_alive(*core_, "connection::home");
    return core_->home();
}

} // namespace rota::io
