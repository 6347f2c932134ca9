#pragma once

#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <source_location>
#include <stop_token>
#include <utility>
#include <vector>

#include <rota/event.hpp>
#include <rota/io/shared_bytes.hpp>
#include <rota/io/stream.hpp>
#include <rota/list_awaiter.hpp>
#include <rota/task.hpp>
#include <rota/wait_list.hpp>

namespace rota::io {

/// What happens to a message for a client that does not read, once its outbox is full.
enum class when_full {
    drop_oldest, ///< the client misses what has waited longest
    drop_newest, ///< the client misses this message
    disconnect,  ///< the client is cut off
};

struct outbox_options {
    /// The most messages that wait; at least 1. Far more than a routine can send before those that
    /// read have a turn (rota/detail/budget.hpp): bytes_max is what tells that a client does not
    /// read.
    std::size_t messages_max = 65'536;
    std::size_t bytes_max = 1'048'576; ///< of those together
    when_full policy = when_full::disconnect;
    /// How long the client may take for what is left once serve()'s body has ended.
    std::chrono::milliseconds finish_within = std::chrono::seconds(10);
};

/// Messages on their way to one client, from any number of senders: a bounded queue that the
/// client's routine drains beside its own work.
///
///     io::outbox out;                                     // in the client's routine
///     members.add(out);                                   // others find it, and call try_send()
///     task<void> body = talk(&client);
///     co_await out.serve(client, std::move(body));        // runs talk(), and writes beside it
///     members.remove(out);
///
/// What is queued is within the options; beside it at most the stream's high-water mark and a
/// message are held for a client. try_send(), send(), close() and the calls that report the state
/// are for any thread; the outbox outlives their calls and waits, so before destroying it its owner
/// removes it from where others find it, under their lock.
class outbox {
public:
    class send_awaiter;

    /// Throws std::invalid_argument for messages_max of 0.
    explicit outbox(outbox_options options = {});
    outbox(const outbox&) = delete;
    outbox& operator=(const outbox&) = delete;
    ~outbox() = default;

    // -- any thread

    /// Queues `message`, which is shared and not copied; never waits. Returns false if the client
    /// will not get it: the outbox has been closed or cut off, or is full and drops what is new.
    /// For a message of more than bytes_max it is always full; so it is where there is no memory to
    /// queue another one.
    bool try_send(shared_bytes message) noexcept;
    /// `co_await out.send(message)` does what try_send() does, but where the outbox is full waits
    /// for room, whatever the policy, first come first served. Gives true, or false if the client
    /// will not get it: the outbox is, or gets, closed or cut off, or the message has more than
    /// bytes_max. A wait that is cancelled (operation_cancelled), or loses a race, has queued
    /// nothing. try_send() does not queue after those that wait, and where it drops what is oldest,
    /// it drops what send() has queued, too. Throws std::bad_alloc.
    [[nodiscard]] send_awaiter send(shared_bytes message,
                                    std::source_location where = std::source_location::current());
    /// Takes no more messages. Those that are queued are still written.
    void close() noexcept;
    /// Returns how many messages wait.
    [[nodiscard]] std::size_t size() const noexcept;
    /// Returns how many messages the client will never get, because the outbox was full.
    [[nodiscard]] std::uint64_t dropped() const noexcept;
    /// Returns whether the client has been cut off because it did not read.
    [[nodiscard]] bool cut_off() const noexcept;

    // -- the client's routine

    /// Runs `body`, the client's own work, and beside it writes what is queued to `to`; ends when
    /// both have ended. So the body only reads, and sends through the outbox itself. When it has
    /// ended, the outbox is closed, and what is left is written within
    /// outbox_options::finish_within.
    ///
    /// Throws what ends the body or the writing first; the other is cancelled then. When the client
    /// is cut off, both are cancelled, a line is logged, `to` is aborted, and it throws
    /// std::system_error (ECONNABORTED), which io::server takes for a client that has gone. Once.
    task<void> serve(stream& to, task<void> body);

private:
    class next_awaiter;

    [[nodiscard]] next_awaiter next(std::source_location where = std::source_location::current());
    task<void> write_to(stream* to);
    task<void> until_written();
    task<void> run_body(task<void> body);
    void cut() noexcept;

    [[nodiscard]] bool fits_locked(const shared_bytes& message) noexcept;
    [[nodiscard]] bool has_slot_locked() noexcept;
    void queue_locked(shared_bytes message) noexcept;
    [[nodiscard]] shared_bytes take_locked() noexcept;
    [[nodiscard]] waiter* cut_locked() noexcept;
    [[nodiscard]] waiter* served_locked() noexcept;
    [[nodiscard]] bool send_locked(send_awaiter& one, waiter*& to_wake) noexcept;

    const outbox_options options_;
    std::stop_source cut_; // ends serve(); any thread

    mutable std::mutex lock_; // guards everything below
    std::vector<shared_bytes> ring_;
    std::size_t first_ = 0;
    std::size_t count_ = 0;
    std::size_t bytes_ = 0;
    std::uint64_t dropped_ = 0;
    bool closed_ = false;
    bool was_cut_ = false;
    wait_list writer_;  // while nothing is queued
    wait_list senders_; // whose messages do not fit, or are behind one that does not

    // -- the client's routine
    event written_;
};

class [[nodiscard]] outbox::send_awaiter final : public list_awaiter {
public:
    send_awaiter(outbox& o, shared_bytes message, std::source_location where) noexcept
        : list_awaiter(o.lock_, o.senders_, "outbox::send", where), outbox_(o),
          message_(std::move(message)) {}

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> self) {
        waiter* to_wake = nullptr;
        const bool waits = wait_unless(self, [&] { return outbox_.send_locked(*this, to_wake); });
        wait_list::wake_chain(to_wake);
        return waits;
    }
    bool await_resume();

private:
    friend class outbox;
    static send_awaiter& of(waiter& w) noexcept { return static_cast<send_awaiter&>(w); }
    waiter* others_after_cancel() noexcept override { return outbox_.served_locked(); }

    outbox& outbox_;
    shared_bytes message_;
    bool sent_ = false;
    bool no_memory_ = false;
};

} // namespace rota::io
