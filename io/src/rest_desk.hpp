#pragma once

#include <atomic>
#include <cstddef>

#include <rota/detail/runnable.hpp>
#include <rota/io/resting.hpp>
#include <rota/io/server.hpp>

namespace rota::io {

/// What a server has on one of its workers: connections, some of which rest, and handlers that wait
/// for one of these to say something, no more of them than rest. The baton holder's, but for
/// `told`.
struct alignas(64) rest_desk final : runnable {
    rest_desk() noexcept : runnable(&hear) {}

    /// So many handlers wait at most: the next ends, and is made again when it is wanted.
    static constexpr std::size_t spares_max = 64;

    server::state* of = nullptr; // set once
    std::size_t connections = 0;
    std::size_t resting = 0;
    bool inside = false; // in the server's `served`

    /// False if there are enough.
    [[nodiscard]] bool add(swap_wait& spare) noexcept;
    void remove(const swap_wait& spare) noexcept;
    /// Gives `c`, whose rest is over, to the handler that came last, which runs. False if there is
    /// none.
    [[nodiscard]] bool give(connection_core& c) noexcept;
    /// One rests no more: a handler that waits in vain ends.
    void trim() noexcept;

    // -- any thread
    std::atomic<bool> told{false}; // it is queued: the server drains, or cancels

private:
    static void hear(runnable& self) noexcept;

    swap_wait* spares_ = nullptr;
    std::size_t spare_count_ = 0;
};

} // namespace rota::io
