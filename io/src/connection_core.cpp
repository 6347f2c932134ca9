#include "connection_core.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <rota/check.hpp>

#include "string_pool.hpp"

namespace rota::io {

const std::size_t connection_core::object_bytes = sizeof(connection_core);

connection_core* connection_core::make(int fd, worker_io& io, assignment place, gone_hook on_gone) {
    io.reserve_place();
    void* const memory = io.core_memory.take();
    return ::new (memory) connection_core(fd, io, std::move(place), std::move(on_gone));
}

connection_core::connection_core(int fd, worker_io& io, assignment place, gone_hook on_gone)
    : operation(op_kind::receive, io.home), place_(std::move(place)), at_home_(*this), io_(io),
      linger_(*this), reader_(io.home), output_(io.home, io.writer, io.reader,
                                                {.high_water_bytes = io.options.high_water_bytes,
                                                 .low_water_bytes = io.options.low_water_bytes},
                                                *this),
      on_gone_(std::move(on_gone)) {
    operation::fd = fd;
    group = &io.buffers;
    output_.open(fd);
}

void connection_core::open() {
    io_.home.add_connection();
    io_.add(*this);
    start_receive();
}

void connection_core::start_receive() noexcept {
    if (active || starved_ || peer_closed() || life_ >= life::ending)
        return;
    // For fill_more() what is unread already does not count.
    const std::size_t limit = unread_limit();
    const std::size_t held = growing_ ? later_.size() : unread_bytes();
    if (held > limit / 2)
        return; // until it has been consumed
    room = static_cast<std::uint32_t>(limit - held);
    active = true;
    io_.reader.request(*this, operation::want_arm);
}

void connection_core::cancel_receive() noexcept {
    if (!active || cancel_pending_)
        return;
    cancel_pending_ = true;
    io_.reader.request(*this, operation::want_cancel);
}

void connection_core::retry_receive() noexcept {
    starved_ = false;
    start_receive();
}

void connection_core::complete(std::int32_t result, std::uint32_t flags) noexcept {
    if ((flags & completion_flags::cancel_seen) != 0) {
        ROTA_CHECK(cancel_pending_, "a cancel is seen once");
        cancel_pending_ = false;
        if (life_ == life::ending)
            advance_closing();
        return;
    }
    if ((flags & completion_flags::buffer) != 0) {
        const auto buffer = static_cast<std::uint16_t>(flags >> completion_flags::buffer_shift);
        was_starved_ = false;
        bool stored = true;
        if (result > 0 && life_ == life::open) {
            stored = store({io_.buffers.data(buffer), static_cast<std::size_t>(result)});
            if (heard_ < settled)
                ++heard_;
            else
                io_.home.note_client();
        }
        io_.buffers.give_back(buffer);
        if (!stored)
            abort(); // no memory: it is this connection that goes
    }
    if ((flags & completion_flags::more) == 0)
        receive_ended(result);
    if (life_ == life::ending) {
        advance_closing(); // this may be gone now
        return;
    }
    if (!buffered().empty() || has_later_ || peer_closed())
        wake_reader();
}

void connection_core::wake_reader() noexcept { keeper_ != nullptr ? end_rest() : reader_.wake(); }

/// False if there is no memory for it.
bool connection_core::store(std::string_view bytes) noexcept {
    if (receive_error_ != 0)
        return true; // it has been aborted: nobody is to see a stream with a gap
    try {
        append(bytes);
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

void connection_core::append(std::string_view bytes) {
    // The routine may hold a view of what is there already: it stays where it is.
    std::string& target = unread_.empty() ? unread_ : later_;
    const std::size_t needed = target.size() + bytes.size();
    if (target.capacity() < needed) {
        // It grows by doubling, but not beyond what may be unread.
        const std::size_t more = std::max(io_.options.receive_buffer_bytes,
                                          std::min(2 * target.capacity(), unread_limit()));
        std::string fresh = string_pool::take(std::max(needed, more));
        if (target.empty()) {
            target = std::move(fresh);
        } else {
            fresh.append(target);
            target.swap(fresh);
            string_pool::keep(fresh);
        }
    }
    target.append(bytes);
    has_later_ = &target == &later_;
    ROTA_CHECK(target.size() <= unread_limit(), "no more has arrived than may be unread");
}

void connection_core::receive_ended(std::int32_t result) noexcept {
    ROTA_CHECK(active, "a receive ends once");
    active = false;
    if (result == 0) {
        end_of_stream_ = true;
    } else if (result == -ENOBUFS || result == -ENOMEM) {
        starved_ = true;
        io_.add_starved(*this, std::exchange(was_starved_, true));
    } else if (result < 0 && result != -ECANCELED && result != -EINTR && receive_error_ == 0) {
        receive_error_ = -result; // unless it has been aborted
    }
    start_receive(); // if there is room for more, or it ended for another reason
}

void connection_core::consume(std::size_t bytes) noexcept {
    ROTA_CHECK(may_be_used(), "a connection is used on its worker");
    consumed_ += bytes;
    if (consumed_ == unread_.size()) {
        unread_.clear();
        consumed_ = 0;
        if (std::exchange(has_later_, false)) {
            unread_.swap(later_);
            string_pool::keep(later_);
        }
        if (unread_.empty() && unread_.capacity() > 32) {
            string_pool::keep(unread_);
        }
    }
    if (!active)
        start_receive();
}

task<bool> connection_core::fill(deadline until, std::source_location where) {
    while (buffered().empty()) {
        if (receive_error_ != 0) {
            throw std::system_error(receive_error_, std::system_category(), "receive");
        }
        if (end_of_stream_)
            co_return false;
        start_receive();
        auto arrival = reader_.wait("stream::fill", until, where);
        co_await arrival;
    }
    co_return true;
}

task<bool> connection_core::fill_more(deadline until, std::source_location where) {
    if (buffered().empty()) {
        co_return co_await fill(until, where);
    }
    while (later_.empty()) {
        if (receive_error_ != 0) {
            throw std::system_error(receive_error_, std::system_category(), "receive");
        }
        if (end_of_stream_)
            co_return false;
        growing_ = true;
        start_receive();
        try {
            auto arrival = reader_.wait("stream::fill", until, where);
            co_await arrival;
        } catch (...) {
            growing_ = false;
            throw;
        }
        growing_ = false;
    }
    unread_.erase(0, consumed_);
    consumed_ = 0;
    unread_.append(later_);
    string_pool::keep(later_);
    has_later_ = false;
    co_return true;
}

// --- Resting ---

void connection_core::rest(rest_keeper& keeper, std::chrono::steady_clock::time_point until,
                           rest_memo memo) noexcept {
    keeper_ = &keeper;
    memo_ = memo;
    rest_until_ = until;
    start_receive();
    look_by(std::min(until, deadline_after(io_.home.turn_time(), keeper.of_rests.look_after)));
    if (!buffered().empty() || peer_closed())
        end_rest();
}

void connection_core::end_rest() noexcept {
    if (!std::exchange(rest_ending_, true))
        io_.home.post(at_home_);
}

void connection_core::end_rest_by(std::chrono::steady_clock::time_point until) noexcept {
    if (keeper_ == nullptr || rest_ending_)
        return;
    rest_cut_ = true;
    rest_until_ = std::min(rest_until_, until);
    look_by(rest_until_);
}

/// Sees to it that look_at_rest() is called at `when` or earlier.
void connection_core::look_by(std::chrono::steady_clock::time_point when) noexcept {
    if (look_at_ <= when)
        return;
    io_.home.timers().disarm(linger_);
    io_.home.timers().arm(linger_, when);
    look_at_ = when;
}

/// Whether it has been at rest for a while: the last request renewed its time to be idle.
bool connection_core::is_quiet() const noexcept {
    const rest_limits& limits = keeper_->of_rests;
    const auto left = rest_until_ - io_.home.turn_time();
    return rest_cut_ || limits.idle_max - left >= limits.look_after;
}

void connection_core::look_at_rest() noexcept {
    look_at_ = never;
    if (keeper_ == nullptr || rest_ending_)
        return;
    const auto now = io_.home.turn_time();
    const rest_limits& limits = keeper_->of_rests;
    if (rest_cut_ && now >= rest_until_) {
        end_rest();
        return;
    }
    const send_progress sent = output_.progress();
    if (sent.left <= 1) { // the end of the stream counts for one
        takes_ = false;
        if (now >= rest_until_) {
            end_rest();
        } else if (!is_quiet()) { // one that goes on so will hardly have come to an end soon
            look_by(std::min(rest_until_, deadline_after(now, 8 * keeper_->of_rests.look_after)));
        } else { // what the next answer would use again is for others
            output_.slim();
            io_.count_rest();
            look_by(rest_until_);
        }
        return;
    }
    if (!std::exchange(takes_, true))
        patience_ = send_patience(limits.send_timeout, now, sent.taken);
    const auto left = patience_.look(limits.send_timeout, limits.send_rate_min, now, sent.taken);
    if (left <= send_patience::duration::zero()) {
        abort();
        return;
    }
    if (!rest_cut_)
        rest_until_ = deadline_after(now, limits.idle_max);
    look_by(std::min(rest_until_, deadline_after(now, std::min(limits.look_after, left))));
}

void connection_core::home_node::run(runnable& r) noexcept {
    connection_core& core = static_cast<home_node&>(r).core;
    if (core.keeper_ == nullptr) {
        core.close();
        return;
    }
    rest_keeper& keeper = *std::exchange(core.keeper_, nullptr);
    core.rest_ending_ = false;
    core.rest_cut_ = false;
    keeper.rest_over(core); // the core may be gone now
}

} // namespace rota::io
