#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

#include <rota/io/server.hpp>

#include "connection_core.hpp"
#include "gate.hpp"

namespace rota::io {

/// Fewer clients than this leave too little behind to bother.
inline constexpr std::size_t crowd_min = 1024;

/// Shared with every client, the last of which may outlive the server object.
struct server::state final : rest_keeper, std::enable_shared_from_this<server::state> {
    state(context& c, handler h, server_options o)
        : ctx(c), on_client(std::move(h)), options(std::move(o)), clients(options.max_connections) {
    }

    context& ctx;
    const handler on_client;
    const server_options options;
    rest_handlers rests; // set before it runs
    gate clients;        // places: taken before a client is accepted
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

    /// When a crowd has gone, so does its memory, which the allocator would keep otherwise.
    void client_gone() noexcept {
        const std::size_t left = connections.fetch_sub(1, std::memory_order_relaxed) - 1;
        clients.leave();
        std::size_t before = crowd.load(std::memory_order_relaxed);
        if (before >= crowd_min && left <= before / 16 &&
            crowd.compare_exchange_strong(before, left)) {
            ctx.return_memory();
        }
    }

    void rest(connection client, std::chrono::steady_clock::time_point until, rest_memo memo);
    void rest_over(connection_core& c) noexcept override;
    /// No client rests longer than that from now on. The ones that come to rest later see to it
    /// themselves: `draining` or `cancelling` has been requested before.
    void end_rests_within(std::chrono::milliseconds grace);

    void settle(std::vector<endpoint> where) {
        const std::lock_guard guard(lock);
        if (!bound)
            bound = std::move(where);
        settled.notify_all();
    }
};

} // namespace rota::io
