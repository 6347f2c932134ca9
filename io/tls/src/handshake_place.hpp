#pragma once

#include <chrono>
#include <cstddef>
#include <stop_token>

#include <rota/worker.hpp>

namespace rota::io::tls {

/// The handshakes of one worker: how many are under way, and how many of their heavy steps it has
/// done by itself lately. Under its baton.
class handshake_place {
public:
    /// One under way, from the accept on. The oldest is told to stop when there are too many: it is
    /// it that takes its time, while clients that mean well are through soon.
    class entry {
    public:
        entry(handshake_place& in, std::size_t most);
        ~entry();
        entry(const entry&) = delete;
        entry& operator=(const entry&) = delete;
        [[nodiscard]] std::stop_token token() const noexcept { return given_up_.get_token(); }
        [[nodiscard]] bool given_up() const noexcept { return given_up_.stop_requested(); }

    private:
        friend class handshake_place;
        void unlink() noexcept;

        handshake_place& in_;
        std::stop_source given_up_;
        entry* previous_ = nullptr;
        entry* next_ = nullptr;
        bool linked_ = true;
    };

    handshake_place() = default;

    /// Whether the next heavy step belongs to another thread: the reactor's is never to do it, and
    /// `home`'s own does so many a second. While it has no clients but those that come, and few of
    /// these at once, it does all: the way to another thread and back costs switches and wakes.
    [[nodiscard]] bool elsewhere(const worker& home, std::size_t per_second) noexcept;
    [[nodiscard]] std::size_t under_way() const noexcept { return count_; }

private:
    static constexpr std::chrono::milliseconds window{100};
    /// A client that was last heard so long ago has gone, or waits for one step at most.
    static constexpr std::chrono::seconds quiet{10};
    /// So many steps may be before a client that comes for a single request in clear.
    static constexpr std::size_t few = 64;

    entry* oldest_ = nullptr;
    entry* newest_ = nullptr;
    std::size_t count_ = 0;
    std::chrono::steady_clock::time_point window_end_{};
    std::size_t done_ = 0; // in the window
};

} // namespace rota::io::tls
