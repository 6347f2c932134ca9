#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <source_location>
#include <string>
#include <string_view>

#include <rota/executor.hpp>
#include <rota/io/connection.hpp>
#include <rota/io/endpoint.hpp>
#include <rota/io/send_patience.hpp>
#include <rota/io/stream.hpp>
#include <rota/task.hpp>

#include "handle_state.hpp"
#include "operation.hpp"
#include "output.hpp"
#include "wait_point.hpp"
#include "worker_io.hpp"

namespace rota::io {

class connection_core;

/// How peers that rest are looked after.
struct rest_limits {
    using duration = std::chrono::steady_clock::duration;
    duration look_after = std::chrono::seconds(1); ///< whether it has taken what it was sent
    duration idle_max = duration::max();           ///< counted from when it has
    duration send_timeout = duration::max();       ///< of send_patience, until then
    std::uint64_t send_rate_min = 0;               ///< the same; bytes per second
};

/// Has charge of connections that rest: see connection_core::rest().
class rest_keeper {
public:
    /// Set before the first rests.
    rest_limits of_rests;

    /// The rest of `c` is over, and its handle is the keeper's again. Under the baton, not while
    /// completions are handed out.
    virtual void rest_over(connection_core& c) noexcept = 0;

protected:
    ~rest_keeper() = default;
};

/// A connected socket at work: the state behind rota::io::connection, which may be gone before it.
///
/// It lives on one worker, whose baton holder owns everything here but what `output` shares with
/// the write side. The life of it, in order:
///
/// - open: the handle exists; a receive is armed all the time, unless the peer has ended or too
///   much lies unread. It is armed for as much as may still come, so the kernel keeps the rest;
/// - closing: the handle is gone; queued bytes still leave, while the peer takes them;
/// - ending: if a receive is under way, shutdown(2) gives the peer its FIN and ends the receive;
/// - draining: what the kernel still has is waited for in the same way, so that it counts as long
///   as it is there; what the peer does not take is dropped by a reset;
/// - over: the last completion and the last cancel notice have come: close(2), delete. With a
///   handle that outlives the context the object stays, dead, until that goes.
///
/// The descriptor is closed after the last completion only, so nothing of it can reach the number's
/// next user.
class connection_core final : private operation, private output::owner {
public:
    using gone_hook = std::move_only_function<void()>;

    /// A core that takes `fd` over, in the memory of `io`. `on_gone` runs after the descriptor has
    /// been closed (a permit goes back, a gate is left). Under the baton. Throws std::bad_alloc.
    [[nodiscard]] static connection_core* make(int fd, worker_io& io, assignment place,
                                               gone_hook on_gone);
    /// What `io` needs for one.
    static const std::size_t object_bytes;
    connection_core(const connection_core&) = delete;
    connection_core& operator=(const connection_core&) = delete;

    /// Starts receiving. Under the baton, first of all.
    void open();
    /// The handle goes: see above. Under the baton.
    void close() noexcept;
    void abort() noexcept;
    /// The same from whatever thread the handle goes on, for one that may be dead, too.
    void let_go() noexcept;
    /// Its handle moves: ends the program if a routine waits in it that has not been told to stop.
    /// Any thread; another than its worker's cannot look.
    void check_move() noexcept;
    /// The context stops: aborts. True if a handle was there still; it is dead in the end.
    bool stop() noexcept;
    /// Its peer, or, where that has no address, its own. Throws std::system_error.
    [[nodiscard]] std::string describe() const;
    /// Whether the handle has outlived it: all that it refers to is gone. Any thread.
    [[nodiscard]] bool dead() const noexcept { return handle_.dead(); }

    [[nodiscard]] std::string_view buffered() const noexcept {
        return std::string_view(unread_).substr(consumed_);
    }
    void consume(std::size_t bytes) noexcept;
    task<bool> fill(deadline until, std::source_location where);
    task<bool> fill_more(deadline until, std::source_location where);
    [[nodiscard]] bool peer_closed() const noexcept {
        return end_of_stream_ || receive_error_ != 0;
    }
    [[nodiscard]] bool failed() const noexcept {
        return receive_error_ != 0 || output_.error() != 0;
    }

    /// Nobody uses the handle until `keeper` is told that the rest is over: something has arrived,
    /// the stream has ended or failed, or `until` has come. A peer that still takes what it was
    /// sent is not idle: its time begins when it has taken all, and one that is too slow with that
    /// is aborted. Meanwhile there is no memory but this object's, and what is to be sent.
    void rest(rest_keeper& keeper, std::chrono::steady_clock::time_point until,
              rest_memo memo) noexcept;
    /// Not later than that, whatever it still takes.
    void end_rest_by(std::chrono::steady_clock::time_point until) noexcept;
    [[nodiscard]] const rest_keeper* resting_with() const noexcept { return keeper_; }
    [[nodiscard]] rest_memo memo() const noexcept { return memo_; }

    [[nodiscard]] output& out() noexcept { return output_; }
    /// -1 once it is over.
    [[nodiscard]] int fd() const noexcept { return operation::fd; }
    [[nodiscard]] worker& home() const noexcept { return io_.home; }

    /// Arms the receive again after it was starved of buffers.
    void retry_receive() noexcept;

private:
    friend class worker_io;
    enum class life : std::uint8_t { open, closing, ending, draining, over };
    static constexpr auto never = std::chrono::steady_clock::time_point::max();
    /// A peer that says more than a handshake and a request is one to stay.
    static constexpr std::uint8_t settled = 8;

    void check_not_waited_in() noexcept;
    connection_core(int fd, worker_io& io, assignment place, gone_hook on_gone);
    ~connection_core() = default;

    /// For the linger time, and before the end for rests: it stays armed when one is over, since a
    /// client rests between any two of its requests, and looks at the time when it fires.
    struct linger_timer : timer {
        explicit linger_timer(connection_core& c) noexcept : timer(&fire), core(c) {}
        static void fire(timer& t) noexcept {
            connection_core& core = static_cast<linger_timer&>(t).core;
            core.life_ == life::open ? core.look_at_rest() : core.linger_on();
        }
        connection_core& core;
    };
    /// For the end of a rest, and for that of a handle which has gone elsewhere: never both, since
    /// what rests has no handle.
    struct home_node : runnable {
        explicit home_node(connection_core& c) noexcept : runnable(&run), core(c) {}
        static void run(runnable& r) noexcept;
        connection_core& core;
    };

    /// Of the receive.
    void complete(std::int32_t result, std::uint32_t flags) noexcept override;
    void wake_reader() noexcept;
    void end_rest() noexcept;
    void look_by(std::chrono::steady_clock::time_point when) noexcept;
    void look_at_rest() noexcept;
    [[nodiscard]] bool is_quiet() const noexcept;
    [[nodiscard]] bool store(std::string_view bytes) noexcept;
    void append(std::string_view bytes);
    void receive_ended(std::int32_t result) noexcept;
    void start_receive() noexcept;
    void cancel_receive() noexcept;
    [[nodiscard]] std::size_t unread_bytes() const noexcept {
        return unread_.size() - consumed_ + later_.size();
    }
    [[nodiscard]] std::size_t unread_limit() const noexcept { return io_.unread_limit; }
    void output_settled() noexcept override;
    /// Goes one step on towards the end; deletes the object at the end.
    void advance_closing() noexcept;
    /// Looks whether the peer takes what is left; aborts if not.
    void linger_on() noexcept;
    [[nodiscard]] bool must_drain() const noexcept;
    void end() noexcept;
    [[nodiscard]] bool may_be_used() const noexcept {
        return life_ == life::over || io_.home.is_held();
    }

    // What each request needs comes first, from line to line of the cache; the first is that of
    // the operation, which is the receive.

    assignment place_;                // keeps the worker until all is over
    connection_core* next_ = nullptr; // in worker_io's list
    std::uint16_t look_after_ms_ = 0; // while draining

    // -- receiving
    rest_keeper* keeper_ = nullptr; // null: it does not rest
    int receive_error_ = 0;
    bool end_of_stream_ = false;
    bool has_later_ = false;
    bool growing_ = false;        // fill_more() waits: however much is unread, more is wanted
    bool starved_ = false;        // in io_'s list
    bool was_starved_ = false;    // the last time, too; nothing has arrived since
    bool cancel_pending_ = false; // the read side has not yet seen a cancel
    life life_ = life::open;
    bool rest_ending_ = false; // at_home_ is queued for it
    bool rest_cut_ = false;    // it ends at its time, whatever the peer still takes
    bool takes_ = false;       // what the last look found, while it rests
    std::uint8_t heard_ = 0;   // how often something has arrived, up to `settled`
    handle_state handle_;      // any thread
    std::string unread_;       // what buffered() shows a part of
    std::size_t consumed_ = 0;

    // -- resting
    std::chrono::steady_clock::time_point rest_until_;
    std::chrono::steady_clock::time_point look_at_ = never; // when linger_ fires, while it is open
    rest_memo memo_{};
    home_node at_home_;
    worker_io& io_;
    linger_timer linger_;

    wait_point reader_;

    connection_core* previous_ = nullptr; // in worker_io's list

    // -- sending
    output output_;

    std::string later_;      // what has arrived since, so that buffered() stays where it is
    send_patience patience_; // after the close, and while it rests
    gone_hook on_gone_;
};

} // namespace rota::io
