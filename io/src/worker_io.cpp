#include "worker_io.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <utility>

#include <rota/check.hpp>

#include "connection_core.hpp"

namespace rota::io {
namespace {

constexpr auto trim_after = std::chrono::seconds(1);
constexpr std::size_t trim_worth = 256; // fewer leave too little behind to bother
constexpr std::size_t trim_worth_bytes = 4'194'304;
constexpr std::size_t strays_named_max = 8;

} // namespace

worker_io::worker_io(rota::worker& w, read_side& reads, write_side& writes,
                     const reactor_options& opts, bool drives_read_side)
    : home(w), reader(reads), writer(writes), options(opts),
      unread_limit(std::clamp(opts.max_unread_bytes, std::size_t{1}, std::size_t{1} << 30)),
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
    ROTA_CHECK(starved_.size() < starved_.capacity(), "there is room for all that can starve");
    starved_.push_back(&c); // in the room that was made for it
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

void worker_io::reserve_place() {
    if (starved_.capacity() <= connection_count_)
        starved_.reserve(2 * connection_count_ + 16);
}

void worker_io::add(connection_core& c) noexcept {
    ++connection_count_;
    c.next_ = connections_;
    if (connections_ != nullptr)
        connections_->previous_ = &c;
    connections_ = &c;
}

void worker_io::remove(connection_core& c) noexcept {
    ROTA_CHECK(connection_count_ > 0 && (c.previous_ != nullptr || connections_ == &c),
               "a connection is removed once");
    --connection_count_;
    (c.previous_ != nullptr ? c.previous_->next_ : connections_) = c.next_;
    if (c.next_ != nullptr)
        c.next_->previous_ = c.previous_;
}

void worker_io::count_rest() noexcept {
    if (++rested_ >= trim_worth)
        trim_soon();
}

void worker_io::count_dropped(std::size_t bytes) noexcept {
    dropped_bytes_ += bytes;
    if (dropped_bytes_ >= trim_worth_bytes)
        trim_soon();
}

void worker_io::trim_soon() noexcept {
    if (!trim_.armed())
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
    io.dropped_bytes_ = 0;
    io.writer.return_memory();
}

void worker_io::add(handle_core& c) noexcept {
    c.next_handle = others_;
    if (others_ != nullptr)
        others_->previous_handle = &c;
    others_ = &c;
}

void worker_io::remove(handle_core& c) noexcept {
    ROTA_CHECK(c.previous_handle != nullptr || others_ == &c, "a handle is removed once");
    (c.previous_handle != nullptr ? c.previous_handle->next_handle : others_) = c.next_handle;
    if (c.next_handle != nullptr)
        c.next_handle->previous_handle = c.previous_handle;
}

template <class Core>
void worker_io::end_one(Core& c) noexcept {
    std::string name;
    try {
        name = c.describe();          // while it can be asked
    } catch (const std::exception&) { // its peer has gone, or there is no memory
        name.clear();
    }
    if (!c.stop())
        return;
    ++strays_.count;
    try {
        note_stray(name.empty() ? "with a peer that has gone" : std::move(name));
    } catch (const std::bad_alloc&) { // then it is only counted
    }
}

void worker_io::note_stray(std::string name) {
    const auto known =
        std::ranges::find(strays_.named, name, [](const auto& s) { return s.first; });
    if (known != strays_.named.end()) {
        ++known->second;
    } else if (strays_.named.size() < strays_named_max) {
        strays_.named.emplace_back(std::move(name), 1);
    }
}

void worker_io::end_all() noexcept {
    home.end_kept();
    for (connection_core* c = connections_; c != nullptr;) {
        connection_core* const next = c->next_; // this may delete `c`, and only `c`
        end_one(*c);
        c = next;
    }
    for (handle_core* c = others_; c != nullptr;) {
        handle_core* const next = c->next_handle;
        end_one(*c);
        c = next;
    }
}

} // namespace rota::io
