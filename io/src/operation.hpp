#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include <rota/detail/completion_queue.hpp>
#include <rota/detail/runnable.hpp>

#include "buffer_group.hpp"

#include <sys/socket.h>

namespace rota {
class worker;
}

namespace rota::io {

/// When to try again after a shortage (of memory, of descriptors) whose end nothing announces.
inline constexpr auto retry_after = std::chrono::milliseconds(50);

enum class op_kind : std::uint8_t {
    receive, ///< into the buffers of `group`, again and again until `room` bytes have been
             ///< delivered or sooner; a final result 0 is the end of the stream
    poll,    ///< one shot: poll events
    connect, ///< one shot
};

/// Something asked of the kernel's receiving side for a worker, embedded in what it serves. Idle
/// and armed by turns:
///
///   idle --arm requested--> submitted --completion with more--> submitted --completion without
///   more--> idle
///
/// Its owner keeps it, its descriptor and its buffers alive while it is not idle. Only then may it
/// be armed again, and only then may the descriptor be closed: that is why no completion can reach
/// a descriptor's next user.
struct operation : completion_handler {
    operation(op_kind what, worker& owner) noexcept : kind(what), home(owner), node(*this) {}
    operation(const operation&) = delete;
    operation& operator=(const operation&) = delete;

    // What each completion needs comes first, within one line of the cache.

    // -- the worker's baton holder: from asking for an arm until the last completion has been
    // handled
    bool active = false;

    // -- the read side's driver
    bool armed = false;
    bool cancelling = false; // while armed: the backend has been asked to end it

    // -- set by the owner while idle
    const op_kind kind;
    int fd = -1;
    worker& home;
    buffer_group* group = nullptr; // receive
    union {
        std::uint32_t poll_events = 0; // poll
        /// receive: bytes that it may still deliver, not 0; counted down by the backend
        std::uint32_t room;
    };

    // -- any thread: what has been asked of the read side and not yet been looked at
    enum : std::uint32_t { want_arm = 1, want_cancel = 2, want_end = 4 };
    std::atomic<std::uint32_t> wanted{0};
    struct link : runnable {
        explicit link(operation& o) noexcept : runnable(&nothing), op(o) {}
        operation& op;
        static void nothing(runnable&) noexcept {}
    } node;

    // -- the read side's driver
    operation* previous_armed = nullptr;
    operation* next_armed = nullptr;

    // -- set by the owner while idle
    const sockaddr* address = nullptr; // connect
    socklen_t address_length = 0;      // connect

    // -- the read side's driver
    bool carried_over = false; // a backend that has been left has begun it

protected:
    ~operation() = default;
};

} // namespace rota::io
