// The part of connection.hpp that writes, and that ends it.

#include <algorithm>
#include <system_error>
#include <utility>

#include <rota/errors.hpp>
#include <rota/http/detail/kept_text.hpp>
#include <rota/http/detail/linger.hpp>
#include <rota/with_timeout.hpp>

#include "connection.hpp"

namespace rota::http::h2 {
namespace {

/// So many streams that are held back for too long at once are no accident.
constexpr std::size_t stalls_max = 8;

} // namespace

// --- Writing ---

/// Makes frames of what there is. Where the memory for one ends its beginning may be there already,
/// so nothing can follow.
void connection::make_frames() {
    try {
        engine_.write(out_, limits_.output_batch_bytes);
    } catch (...) {
        give_up();
        throw;
    }
}

bool connection::send_shared(std::string& before, const io::shared_bytes& content) {
    if (!wire_.try_send_shared(before, content))
        return false;
    detail::clear_and_trim(before);
    return true;
}

/// There was no memory for what cannot be done again: the connection cannot go on, and its reader,
/// wherever it waits, is told.
void connection::give_up() noexcept {
    lost_ = true;
    out_.clear();
    wake_reader();
}

/// For the next time that something is sent; but what makes a batch is sent at once.
void connection::produce() {
    if (reading_ || writing_ || lost_)
        return;
    make_frames();
    if (out_.size() >= limits_.output_batch_bytes)
        flush();
}

bool connection::takes(std::size_t bytes) noexcept {
    return !writing_ && (bytes <= limits_.output_batch_bytes || wire_.stream().has_room(bytes));
}

void connection::flush() {
    if (reading_)
        return;
    while (!writing_ && !lost_) {
        make_frames();
        if (out_.empty())
            break;
        if (!wire_.try_send(out_)) {
            start_writer();
            break;
        }
        detail::clear_and_trim(out_);
    }
    settle();
}

void connection::start_writer() {
    writing_ = true;
    written_.reset();
    writers_->spawn_made([this] { return write_all(); });
    if (writing_ && writers_->error()) // there is no memory for it
        end_writing(true);
}

/// What waits for it goes on; where nothing can be written any more, it is to the end.
void connection::end_writing(bool lost) noexcept {
    lost_ = lost_ || lost;
    writing_ = false;
    written_.set();
    if (lost_ || engine_.over())
        wake_reader();
}

task<void> connection::write_all() {
    try {
        while (!out_.empty() || flush_wanted_) {
            std::string batch = std::exchange(out_, {});
            if (!batch.empty())
                co_await wire_.send_owned(std::move(batch));
            if (std::exchange(flush_wanted_, false))
                co_await wire_.flush();
            make_frames();
            settle();
        }
    } catch (const std::system_error&) { // the client is gone, or takes nothing
        lost_ = true;
    } catch (...) {
        end_writing(true);
        throw;
    }
    end_writing(false);
}

task<void> connection::flush_wire(io::deadline until) {
    flush();
    flush_wanted_ = true;
    if (!writing_ && !lost_)
        start_writer();
    while (writing_) {
        if (!until) {
            co_await written_.wait();
            continue;
        }
        co_await with_deadline(*until, written_.wait());
    }
    if (lost_)
        throw std::system_error(std::make_error_code(std::errc::connection_reset));
}

// --- Times ---

/// How long there may be no stream: before the first one as long as for its head.
std::chrono::milliseconds connection::idle_max() const noexcept {
    return watch_.header_sections() > 0 ? limits_.idle_timeout : limits_.header_timeout;
}

connection::time_point connection::next_look() const noexcept {
    const auto idle = idle_max();
    const time_point::duration step =
        draining_ ? std::min<time_point::duration>(step_, limits_.drain_grace) : step_;
    time_point next = home_.now() + step;
    if (open_.empty())
        next = since_ + idle;
    if (watch_.in_header_section())
        next = std::min(next, section_since_ + limits_.header_timeout);
    if (end_at_)
        next = std::min(next, *end_at_);
    return next;
}

/// Ends what has lasted too long.
void connection::look() {
    const time_point now = home_.now();
    if (end_at_ && now >= *end_at_) {
        end_at_.reset();
        end_soon();
    }
    if (watch_.in_header_section() && now >= section_since_ + limits_.header_timeout) {
        fail(error_code::enhance_your_calm);
        return;
    }
    if (!open_.empty()) {
        look_at_streams(now);
        return;
    }
    const auto idle = idle_max();
    if (now < since_ + idle)
        return;
    // One that still takes its last answers does not idle.
    if (requests_ > 0 && wire_.still_takes())
        since_ = now;
    else
        fail(error_code::no_error);
}

void connection::look_at_streams(time_point now) {
    std::size_t stalls = 0;
    for (const auto& one : open_) {
        if (one->drop_until && now >= *one->drop_until && !one->closed()) {
            engine_.reset(one->id(), error_code::no_error);
        } else if (one->stalls(now, sent_)) {
            ++stalls;
            engine_.reset(one->id(), error_code::enhance_your_calm);
        }
    }
    if (stalls > stalls_max || (stalls > 0 && engine_.is_connection_held_back()))
        fail(error_code::enhance_your_calm);
}

// --- Ends ---

/// RFC 9113 section 6.8: in two steps, so that no request is lost that is on its way.
void connection::begin_drain() {
    draining_ = true;
    engine_.announce_end();
    end_at_ = home_.now() + limits_.drain_grace;
    for (const auto& one : open_) {
        if (one->drop_until)
            one->drop_until = std::min(*one->drop_until, *end_at_);
    }
}

void connection::end_soon() {
    if (std::exchange(ending_, true))
        return;
    engine_.end_behind_streams();
}

void connection::fail(error_code why) {
    if (std::exchange(failed_, true))
        return;
    at_fault_ = why != error_code::no_error;
    engine_.end(why);
    wake_reader();
}

/// Says what is left to be said, and lets the client read it.
task<void> connection::say_goodbye() {
    make_frames();
    std::string rest = std::exchange(out_, {});
    if (!rest.empty())
        co_await wire_.send_owned(std::move(rest));
    // What has been sent lately may be under way. A client opens windows as it reads, and what it
    // sends to a socket that is closed resets the connection: then the rest is lost to it.
    const auto just_now = draining_ ? drain_linger : limits_.linger_timeout;
    const bool under_way = at_fault_ || (requests_ != 0 && home_.now() - since_ < just_now);
    const auto limit = under_way ? limits_.linger_timeout : limits_.drain_grace;
    const auto in_drain = under_way ? drain_linger : limits_.drain_grace;
    co_await linger(&wire_, limit, control_.draining, in_drain);
}

} // namespace rota::http::h2
