#include "rest_desk.hpp"

#include <chrono>
#include <exception>
#include <memory>
#include <utility>

#include <rota/io/log.hpp>

#include "access.hpp"
#include "server_state.hpp"
#include "worker_io.hpp"

namespace rota::io {

// --- The desk of a worker ---

bool rest_desk::add(swap_wait& spare) noexcept {
    if (spare_count_ == spares_max)
        return false;
    ++spare_count_;
    spare.next_ = std::exchange(spares_, &spare);
    return true;
}

void rest_desk::remove(const swap_wait& spare) noexcept {
    swap_wait** at = &spares_;
    while (*at != nullptr && *at != &spare)
        at = &(*at)->next_;
    if (*at == nullptr)
        return;
    *at = spare.next_;
    --spare_count_;
}

bool rest_desk::give(connection_core& c) noexcept {
    if (spares_ == nullptr)
        return false;
    swap_wait& spare = *std::exchange(spares_, spares_->next_);
    --spare_count_;
    connection_access::give(spare.with_.client, c);
    spare.with_.memo = c.memo();
    spare.with_.rests = false;
    spare.found_ = true;
    spare.complete_here();
    return true;
}

void rest_desk::trim() noexcept {
    while (spare_count_ > resting) {
        swap_wait& spare = *std::exchange(spares_, spares_->next_);
        --spare_count_;
        spare.complete();
    }
}

void rest_desk::hear(runnable& self) noexcept {
    auto& desk = static_cast<rest_desk&>(self);
    const std::shared_ptr<server::state> s = desk.of->shared_from_this();
    desk.told.store(false);
    worker& home = *worker::current();
    const auto grace =
        s->cancelling.stop_requested() ? std::chrono::milliseconds(0) : s->options.rest_grace;
    context_access::io_of(s->ctx, home).end_rests_by(*s, home.turn_time() + grace);
    s->leave_if_empty(desk);
    home.remove_place();
    s->served.leave();
}

// --- A handler that lets its client rest ---

swap_wait::swap_wait(rest_keeper& of, resting_client& with) noexcept
    : owner_wait("another client"), of_(of), with_(with) {}

bool swap_wait::begin() noexcept {
    auto& s = static_cast<server::state&>(of_);
    connection_core& core = *connection_access::take(with_.client);
    rest_desk& desk = s.desk_of(core.home());
    with_.rests = true;
    s.rest(core, with_.until, with_.memo);
    return desk.add(*this);
}

bool swap_wait::withdraw() noexcept {
    static_cast<server::state&>(of_).desk_of(owner().home()).remove(*this);
    return true;
}

// --- The server ---

void server::state::rest(connection_core& client, std::chrono::steady_clock::time_point until,
                         rest_memo memo) noexcept {
    rest_desk& desk = desk_of(client.home());
    ++desk.resting;
    if (!std::exchange(desk.inside, true))
        served.enter_now();
    client.rest(*this, until, memo);
    if (draining.stop_requested()) {
        const bool at_once = cancelling.stop_requested();
        client.end_rest_by(client.home().turn_time() +
                           (at_once ? std::chrono::milliseconds(0) : options.rest_grace));
    }
}

void server::state::rest_over(connection_core& c) noexcept {
    rest_desk& desk = desk_of(c.home());
    --desk.resting;
    if (!c.buffered().empty() && desk.give(c))
        return;
    const std::shared_ptr<state> keep = shared_from_this(); // the connection may be the last to
    worker& home = c.home();
    const rest_memo memo = c.memo();
    bool resumed = false;
    connection client(&c);
    if (!client.buffered().empty()) {
        try {
            start(std::nullopt, std::move(client), memo, &home, nullptr);
            resumed = true;
        } catch (const std::exception& e) { // no memory: it is this client that goes
            log::error("a client is given up: {}", e.what());
        }
    }
    if (!resumed) {
        rests.ended(home);
        desk.trim();
    }
    if (draining.stop_requested())
        leave_if_empty(desk);
}

void server::state::leave_if_empty(rest_desk& desk) noexcept {
    if (desk.resting == 0 && std::exchange(desk.inside, false))
        served.leave();
}

void server::state::client_gone(const worker& home) noexcept {
    rest_desk& desk = desk_of(home);
    if (--desk.connections == 0)
        leave_if_empty(desk);
    client_gone();
    if (crowd_gone())
        context_access::io_of(ctx, home).trim_soon();
}

void server::state::end_rests() noexcept {
    for (rest_desk& desk : desks) {
        worker* const w = ctx.workers().worker_at(static_cast<std::size_t>(&desk - desks.data()));
        if (w == nullptr)
            continue;
        served.enter_now();    // until it has heard
        if (!w->add_place()) { // the worker has ended, so it has no connections
            served.leave();
        } else if (desk.told.exchange(true)) {
            w->remove_place();
            served.leave();
        } else {
            w->post(desk);
        }
    }
}

} // namespace rota::io
