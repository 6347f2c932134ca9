#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <source_location>
#include <stop_token>
#include <string>

#include <poll.h>

#include <rota/executor.hpp>
#include <rota/io/datagram_socket.hpp>
#include <rota/io/listener.hpp>

#include "datagram_receiver.hpp"
#include "datagram_sender.hpp"
#include "handle_state.hpp"
#include "operation.hpp"
#include "wait_point.hpp"
#include "worker_io.hpp"

namespace rota::io {

/// Binds a socket to `address`, or connects it. Throws as the constructor of datagram_socket. Any
/// thread.
[[nodiscard]] accepted_socket open_datagrams(const endpoint& address,
                                             const datagram_options& options, bool to_peer = false);
/// Where it is bound. Throws std::system_error.
[[nodiscard]] endpoint local_of(int fd);

/// What a datagram_socket is a handle of. The system calls that move bytes are made here, without
/// waiting; that it is worth one a poll tells, one for each direction. So it outlives its handle
/// until the kernel has given both polls back. The baton holder of its worker owns it.
class datagram_core final : public handle_core {
public:
    /// `on_gone` is called, at home, when the descriptor has been closed.
    datagram_core(worker_io& w, accepted_socket s, const datagram_options& options, assignment p,
                  std::move_only_function<void()> on_gone = {});

    /// A poll, and the routine that waits for what it tells.
    class direction final : operation {
    public:
        direction(datagram_core& of, std::uint32_t events) noexcept;
        /// Awaited by one routine, until it is worth another try. Throws as datagram_socket does.
        task<void> until_ready(const char* what, deadline until, std::source_location where);
        /// There was a shortage: the next wait takes some time.
        void put_off() noexcept { troubled_ = true; }
        /// Ends the wait, if there is one, and the poll.
        void end_wait() noexcept;
        /// Whether the kernel has something of it.
        [[nodiscard]] bool busy() const noexcept { return active || cancel_pending_; }
        /// There will be no wait here any more.
        void end() noexcept { waiter_.end(); }

    private:
        void complete(std::int32_t result, std::uint32_t flags) noexcept override;

        datagram_core& core_;
        wait_point waiter_;
        bool cancel_pending_ = false;
        bool troubled_ = false; // which may last
    };

    /// True if there is something in the receiver. Throws std::system_error.
    [[nodiscard]] bool take();
    /// Sends all that is queued.
    task<void> send_all(deadline until, std::source_location where);
    void drain() noexcept;
    /// Whether nothing is waited for any more, and whether nothing is given any more.
    [[nodiscard]] bool draining() const noexcept { return draining_; }
    [[nodiscard]] bool drained() const noexcept { return draining_ && left_to_take_ == 0; }
    void drain_on(std::stop_token token);

    /// Throws if the context has stopped.
    void check_alive() const;
    [[nodiscard]] bool dead() const noexcept { return handle_.dead(); }
    [[nodiscard]] worker& home() const noexcept { return home_; }
    [[nodiscard]] int fd() const noexcept { return socket_.get(); }

    /// The handle goes, on any thread: see connection_core::let_go().
    void let_go() noexcept;
    bool stop() noexcept override;
    [[nodiscard]] std::string describe() const override;

private:
    struct node : runnable {
        node(datagram_core& c, function run) noexcept : runnable(run), self(c) {}
        datagram_core& self;
    };
    struct drain_request {
        datagram_core* self;
        void operator()() const noexcept;
    };

    void orphan() noexcept;
    void end_if_orphaned() noexcept;

    worker_io& io_;
    worker& home_; // io_ may be gone
    accepted_socket socket_;
    std::move_only_function<void()> on_gone_;
    std::optional<assignment> place_; // keeps the worker

public:
    datagram_receiver receiver;
    datagram_sender sender;
    direction in;
    direction out;

private:
    std::size_t left_to_take_; // once it drains
    bool draining_ = false;
    bool orphaned_ = false;
    node orphaning_;
    node draining_node_;
    std::optional<std::stop_callback<drain_request>> on_drain_;

    // -- any thread
    std::atomic<bool> drain_posted_{false}; // the node is in the worker's inbox
    handle_state handle_;
};

} // namespace rota::io
