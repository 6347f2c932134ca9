#pragma once

#include <chrono>
#include <coroutine>

#include <rota/io/connection.hpp>
#include <rota/owner_wait.hpp>

namespace rota::io {

class rest_keeper;

/// A client, and what it rests with.
struct resting_client {
    connection& client;
    std::chrono::steady_clock::time_point until; ///< it is closed then
    rest_memo memo;
    bool rests = false; ///< it is at rest, and `client` empty
};

/// See rest_place::swap().
class swap_wait final : public owner_wait {
public:
    swap_wait(rest_keeper& of, resting_client& with) noexcept;
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> self) {
        return wait(self, [this] { return begin(); });
    }
    bool await_resume() {
        finish();
        return found_;
    }

private:
    friend struct rest_desk;
    [[nodiscard]] bool begin() noexcept;
    bool withdraw() noexcept override;

    rest_keeper& of_;
    resting_client& with_;
    swap_wait* next_ = nullptr;
    bool found_ = false;
};

/// Where the handlers of a server let idle clients rest: server::resting().
class rest_place {
public:
    /// Lets the client of `of` rest, keeping no memory but that of the bare connection, and waits
    /// for another resting client of the same worker to send something. Returns true, and `of` has
    /// that client and its memo; or false if no more handlers are needed: this one has no client,
    /// and ends.
    ///
    /// Its handler must have written everything. A client that sends something while no handler
    /// waits is passed to server::rest_handlers::resumed. One that ends or fails, or whose time is
    /// up, or that rests when the server drains, is closed instead. Throws operation_cancelled;
    /// `of` says whether the client rests then.
    ///
    /// Awaited by a handler of the server, which keeps it. `of` outlives the wait.
    [[nodiscard]] swap_wait swap(resting_client& of) const noexcept { return {*of_, of}; }

private:
    friend class server;
    rest_keeper* of_ = nullptr;
};

} // namespace rota::io
