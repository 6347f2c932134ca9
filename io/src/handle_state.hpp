#pragma once

#include <atomic>
#include <cstdint>

namespace rota::io {

/// What has become of the handle (a connection, a listener) of an object that lives on a worker.
/// The handle may go on any thread, and the context may go before it:
///
///   held --the handle goes elsewhere--> gone: a close is posted to the object's worker
///   held --the context stops--> stray: the object ends as if the handle had gone
///   stray --the handle goes--> gone: nothing is left to do, the object is ending
///   stray --the object has ended--> dead: its memory is the handle's
///
/// While it is held, the object's place keeps its worker. Handles that go at home do not change it.
class handle_state {
public:
    /// The handle goes, elsewhere than at home. True: the object is to be closed by its worker.
    bool let_go_elsewhere() noexcept { return change(state::held, state::gone); }
    /// The handle goes, and was not held. True: its object is still ending, and needs no more.
    /// False: it is dead, and the caller destroys it.
    bool let_go_stray() noexcept { return change(state::stray, state::gone); }
    /// The context stops. False if the handle has just gone. At home.
    bool make_stray() noexcept { return change(state::held, state::stray); }
    /// The object has ended, and touches itself no more if this is true: its handle is there, and
    /// destroys it. At home.
    bool outlived() noexcept { return change(state::stray, state::dead); }

    [[nodiscard]] bool held() const noexcept { return load() == state::held; }
    [[nodiscard]] bool dead() const noexcept { return load() == state::dead; }

private:
    enum class state : std::uint8_t { held, gone, stray, dead };

    /// Releases what the object is to the one that finds it changed.
    bool change(state from, state to) noexcept {
        return state_.compare_exchange_strong(from, to, std::memory_order_acq_rel);
    }
    [[nodiscard]] state load() const noexcept { return state_.load(std::memory_order_acquire); }

    std::atomic<state> state_{state::held};
};

} // namespace rota::io
