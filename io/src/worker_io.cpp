#include "worker_io.hpp"

#include <algorithm>
#include <chrono>

#include "connection_core.hpp"

namespace rota::io {
namespace {

constexpr auto retry_after = std::chrono::milliseconds(50);
constexpr auto trim_after = std::chrono::seconds(1);
constexpr std::size_t trim_worth = 256; // fewer leave too little behind to bother

} // namespace

worker_io::worker_io(rota::worker& w, read_side& reads, write_side& writes,
                     const reactor_options& opts, bool drives_read_side)
    : home(w), reader(reads), writer(writes), options(opts),
      buffers(static_cast<std::uint16_t>(w.index()), opts.receive_buffers,
              opts.receive_buffer_bytes),
      core_memory(connection_core::object_bytes), drives_read_side_(drives_read_side) {}

worker_io::~worker_io() = default;

void worker_io::after_turn(bool lent) noexcept {
    if (buffers.publish())
        worth_a_retry_ = true;
    if (!starved_.empty()) {
        if (worth_a_retry_) {
            retry_starved();
        } else if (!retry_.armed()) {
            home.timers().arm(retry_, home.turn_time() + retry_after);
        }
    }
    if (!lent)
        writer.flush();
    // With more work at hand the worker will not sleep in its ring: look there now, without
    // waiting.
    if (drives_read_side_ && home.has_work())
        reader.turn({}, false);
}

void worker_io::retry_starved() noexcept {
    worth_a_retry_ = false;
    home.timers().disarm(retry_);
    for (connection_core* c : starved_)
        c->retry_receive();
    starved_.clear();
}

void worker_io::add_starved(connection_core& c, bool again) noexcept {
    starved_.push_back(&c);
    // Completions come in the order in which they happened, so the buffers that were missing have
    // come back by now, perhaps in an earlier turn. Without any the second time, it is another
    // shortage than that of buffers.
    worth_a_retry_ = worth_a_retry_ || !again;
}

void worker_io::remove_starved(connection_core& c) noexcept {
    std::erase(starved_, &c);
    if (starved_.empty())
        home.timers().disarm(retry_);
}

void worker_io::add(connection_core& c) noexcept {
    c.next_ = connections_;
    if (connections_ != nullptr)
        connections_->previous_ = &c;
    connections_ = &c;
}

void worker_io::remove(connection_core& c) noexcept {
    (c.previous_ != nullptr ? c.previous_->next_ : connections_) = c.next_;
    if (c.next_ != nullptr)
        c.next_->previous_ = c.previous_;
}

void worker_io::count_rest() noexcept {
    if (++rested_ >= trim_worth && !trim_.armed())
        home.timers().arm(trim_, home.turn_time() + trim_after);
}

void worker_io::end_rests_by(const rest_keeper& keeper,
                             std::chrono::steady_clock::time_point until) noexcept {
    for (connection_core* c = connections_; c != nullptr; c = c->next_) {
        if (c->resting_with() == &keeper)
            c->end_rest_by(until);
    }
}

void worker_io::trim_timer::fire(timer& t) noexcept {
    worker_io& io = static_cast<trim_timer&>(t).io;
    io.rested_ = 0;
    io.writer.return_memory();
}

void worker_io::abort_all() noexcept {
    for (connection_core* c = connections_; c != nullptr;) {
        connection_core* const next = c->next_; // the abort may delete `c`, and only `c`
        c->abort();
        c = next;
    }
}

} // namespace rota::io
