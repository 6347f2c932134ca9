#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include <rota/io/tls/stream.hpp>

#include "context_state.hpp"
#include "record_engine.hpp"

namespace rota::io::tls {

/// What is behind a stream. Where a routine waits in it, another may read or write meanwhile, so
/// each step between two waits leaves it whole.
struct stream::state {
    state(std::unique_ptr<io::stream> own, io::stream& over, const context& with)
        : shared(of_side(with, true)), owned(std::move(own)), inner(over), tls(shared->current()) {}
    state(std::unique_ptr<io::stream> own, io::stream& over, const context& with,
          const std::string& host)
        : shared(of_side(with, false)), owned(std::move(own)), inner(over),
          tls(shared->current(), host) {}
    state(const state&) = delete;
    state& operator=(const state&) = delete;
    ~state();

    /// What the streams of a context share. Throws std::logic_error for one of the other side.
    static const std::shared_ptr<context::state>& of_side(const context& with, bool server) {
        if (with.state_->server.has_value() != server)
            throw std::logic_error(server ? "tls: a client's stream is for a host, which is to be "
                                            "named"
                                          : "tls: a server's stream is for no host");
        return with.state_;
    }

    // -- beginning
    [[nodiscard]] task<void> shake_hands(deadline until, worker* home);
    [[nodiscard]] task<void> send_step(std::string records, deadline until);
    [[nodiscard]] task<void> first_record(deadline until);

    // -- reading
    [[nodiscard]] std::string_view text() const noexcept {
        return std::string_view(plain).substr(consumed);
    }
    /// Takes the whole records that have arrived, until there is text enough for once.
    void decrypt();
    /// Waits for bytes below. Throws failure(truncated) at their end.
    [[nodiscard]] task<void> arrive(deadline until);
    [[noreturn]] void throw_failure() const;

    // -- writing
    /// Throws if nothing can be written.
    void check_writable() const;
    [[nodiscard]] bool writable() const noexcept {
        return tls.complete() && !write_ended && !cut && !failed && !lost;
    }
    /// Hands over what is owed, as far as that needs no waiting, and `past` all room, or behind the
    /// end of writing, whatever is queued: true if nothing is owed.
    bool settle(bool past = false) noexcept;
    /// Whether the stream below takes records now, room or not; nothing is owed then.
    [[nodiscard]] bool takes_more();
    /// For what goes out although nobody waits for it: alerts, close_notify, answers to new keys.
    void owe(std::string&& records) noexcept;
    /// Waits until nothing is owed and the stream below takes more.
    [[nodiscard]] task<void> room(deadline until);
    /// Hands over records that exist now, and so must go out, come what may.
    [[nodiscard]] task<void> pass(std::string records);
    void end_writing() noexcept;

    const std::shared_ptr<context::state> shared; // outlives the snapshot of `tls`
    const std::unique_ptr<io::stream> owned;      // or null
    io::stream& inner;
    record_engine tls;
    std::string plain;        // text that has arrived
    std::size_t consumed = 0; // of it
    std::string owed;         // records that have to go before all others
    bool ended = false;       // close_notify has come
    bool truncated = false;
    bool failed = false; // the engine
    bool lost = false;   // records that the stream below has not taken
    bool cut = false;
    bool write_ended = false;
    bool end_owed = false; // the half-close waits for what is owed
};

} // namespace rota::io::tls
