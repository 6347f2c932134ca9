#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <rota/check.hpp>
#include <rota/io/server.hpp>

#include "connection_core.hpp"
#include "gate.hpp"
#include "rest_desk.hpp"

namespace rota::io {

/// Fewer clients than this leave too little behind to bother: one of HTTP/2 may have 128 requests
/// with heads of 32 KiB.
inline constexpr std::size_t crowd_min = 4;

/// Shared with every client, the last of which may outlive the server object; with the connections
/// that still send what was written, after run() has returned.
struct server::state final : rest_keeper, std::enable_shared_from_this<server::state> {
    state(context& c, server_options o)
        : ctx(c), options(std::move(o)), clients(options.max_connections),
          desks(runtime::max_workers) {
        for (rest_desk& desk : desks)
            desk.of = this;
    }
    ~state() {
        ROTA_CHECK(served.inside() == 0, "no client of a server that is gone has a handler");
        ROTA_CHECK(clients.inside() == 0, "every place of a server has been given back");
        ROTA_CHECK(connections.load() == 0, "no connection is counted that is not there");
        drop_attached();
    }

    context& ctx;
    const server_options options;
    // The program's: called for those in `served`, given up when run() has seen the last of them.
    handler on_client;   // set before it runs, too
    rest_handlers rests; // set before it runs
    struct other_clients {
        std::vector<endpoint> listen;
        handler on_client;
    };
    std::vector<other_clients> others; // set before it runs
    struct background {
        task<void> body; // run() takes it
        attach_options options;
    };
    std::vector<background> attached;
    bool begun = false;                                  // run() has been called
    std::chrono::steady_clock::time_point drain_until{}; // set when it begins

    /// With the bodies of those that have not been started.
    void drop_attached() noexcept {
        for (background& each : attached)
            each.body.drop();
        attached.clear();
    }
    gate clients; // places: taken before a client is accepted, left when it is closed
    /// Clients whose handler runs, or may be called again: so each desk is inside, too, as long as
    /// there may be a client that rests.
    gate served{std::numeric_limits<std::size_t>::max()};
    std::atomic<std::size_t> connections{0};
    std::atomic<std::size_t> crowd{0}; // the most that there were since memory was last returned
    std::stop_source draining;         // no new clients; idle ones go
    std::stop_source hurry;            // do not wait for the rest
    std::stop_source cancelling;       // ends every client

    mutable std::mutex lock;
    mutable std::condition_variable settled;
    std::optional<std::vector<endpoint>> bound;

    void client_came() noexcept {
        const std::size_t now = connections.fetch_add(1, std::memory_order_relaxed) + 1;
        if (now > crowd.load(std::memory_order_relaxed))
            crowd.store(now, std::memory_order_relaxed);
    }

    /// One that was accepted is no more.
    void client_gone() noexcept {
        const std::size_t left = connections.fetch_sub(1, std::memory_order_relaxed) - 1;
        ROTA_CHECK(left < options.max_connections, "a client goes once");
        clients.leave();
    }

    /// Whether a crowd has gone, but for a few. Said once of each.
    [[nodiscard]] bool crowd_gone() noexcept {
        const std::size_t left = connections.load(std::memory_order_relaxed);
        std::size_t before = crowd.load(std::memory_order_relaxed);
        return before >= crowd_min && left <= before / 4 &&
               crowd.compare_exchange_strong(before, left);
    }

    std::vector<rest_desk> desks; // by the index of their worker
    [[nodiscard]] rest_desk& desk_of(const worker& home) noexcept { return desks[home.index()]; }

    void rest(connection_core& client, std::chrono::steady_clock::time_point until,
              rest_memo memo) noexcept;
    void rest_over(connection_core& c) noexcept override;
    /// Of `desk`, from `served`, if nobody rests there.
    void leave_if_empty(rest_desk& desk) noexcept;
    /// A connection of this worker has ended. When a crowd has gone, so does its memory, which the
    /// allocator would keep otherwise.
    void client_gone(const worker& home) noexcept;
    /// Starts a client's handler, which is in `served` until it has ended. Throws if it cannot.
    /// `by` is one of the handlers here; null for a client that has rested.
    void start(std::optional<accepted_socket> socket, connection client, rest_memo memo, worker* on,
               const handler* by);
    /// No client rests longer than the grace from now on, or at all: `draining` or `cancelling` has
    /// been requested before. Later ones see to it themselves.
    void end_rests() noexcept;
    /// Ends every client, soon.
    void cancel(const std::vector<routine_ptr>& acceptors);

    void settle(std::vector<endpoint> where) {
        const std::lock_guard guard(lock);
        if (!bound)
            bound = std::move(where);
        settled.notify_all();
    }

    /// run() has ended, or never will begin: nobody waits for it, and what the program has given
    /// goes.
    void end_run() noexcept {
        settle({});
        drop_attached();
        on_client = {};
        others.clear();
        rests = {};
    }
};

} // namespace rota::io
