#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <rota/detail/runnable.hpp>
#include <rota/io/options.hpp>
#include <rota/worker.hpp>

#include "buffer_group.hpp"
#include "output.hpp"
#include "read_side.hpp"
#include "slab.hpp"
#include "write_side.hpp"

namespace rota::io {

class connection_core;
class rest_keeper;

/// Something beside a connection whose handle the context may have to end: a listener, a datagram
/// socket. In the list of its worker.
class handle_core {
public:
    /// The context stops: it closes. True if its handle was there still, and is dead in the end.
    virtual bool stop() noexcept = 0;
    /// What to call it in a log. Throws.
    [[nodiscard]] virtual std::string describe() const = 0;

    // -- worker_io's list
    handle_core* previous_handle = nullptr;
    handle_core* next_handle = nullptr;

protected:
    ~handle_core() = default;
};

/// What io keeps for one worker: its receive buffers, the sides that serve it, its connections. The
/// baton holder's, except what is set once.
class worker_io final : public turn_hook {
public:
    worker_io(rota::worker& w, read_side& reads, write_side& writes, const reactor_options& options,
              bool drives_read_side);
    ~worker_io();
    worker_io(const worker_io&) = delete;
    worker_io& operator=(const worker_io&) = delete;

    // -- set once
    rota::worker& home;
    read_side& reader;
    write_side& writer;
    const reactor_options& options;
    /// options.max_unread_bytes, within what a receive can be asked for: a number of 32 bits.
    const std::size_t unread_limit;

    // -- the baton holder
    buffer_group buffers;
    slab core_memory; // for connection_core

    /// Publishes returned buffers, re-arms those that went without, sends.
    void after_turn(bool lent) noexcept override;

    /// `c`'s receive ended for want of a buffer, or of memory: it is armed again at the end of the
    /// turn, or, if that has just failed (`again`) and no buffer has come back since, after 50 ms.
    void add_starved(connection_core& c, bool again) noexcept;
    void remove_starved(connection_core& c) noexcept;

    /// Makes room for one more connection in what add_starved() needs. Throws std::bad_alloc.
    void reserve_place();
    void add(connection_core& c) noexcept;
    void remove(connection_core& c) noexcept;
    void add(handle_core& c) noexcept;
    void remove(handle_core& c) noexcept;
    /// One more connection has come to rest. Once many have, what they needed while they were awake
    /// goes back to the system.
    void count_rest() noexcept;
    /// A connection has ended that had `bytes` unread. Once that was much, it goes back to the
    /// system, which the allocator would keep otherwise.
    void count_dropped(std::size_t bytes) noexcept;
    /// What is free goes back to the system, in a second: not once for each that asks for it.
    void trim_soon() noexcept;
    /// The connections that rest with `keeper` do so no longer than that.
    void end_rests_by(const rest_keeper& keeper,
                      std::chrono::steady_clock::time_point until) noexcept;
    /// No routine is left: ends what the worker keeps, and then aborts every connection, those too
    /// that only linger to send their last bytes, and those whose handle is there still. Lets the
    /// worker do it in its next turn. Any thread, once.
    void request_end() noexcept { home.post(end_); }
    /// Handles that were there still when it was done, by what they were; of too many kinds some
    /// are not named. Once the worker has ended.
    struct strays {
        std::size_t count = 0;
        std::vector<std::pair<std::string, std::size_t>> named;
    };
    [[nodiscard]] const strays& left_over() const noexcept { return strays_; }

private:
    struct end_node : runnable {
        explicit end_node(worker_io& w) noexcept : runnable(&run), io(w) {}
        static void run(runnable& r) noexcept { static_cast<end_node&>(r).io.end_all(); }
        worker_io& io;
    };

    struct retry_timer : timer {
        explicit retry_timer(worker_io& w) noexcept : timer(&fire), io(w) {}
        static void fire(timer& t) noexcept { static_cast<retry_timer&>(t).io.retry_starved(); }
        worker_io& io;
    };

    struct trim_timer : timer {
        explicit trim_timer(worker_io& w) noexcept : timer(&fire), io(w) {}
        static void fire(timer& t) noexcept;
        worker_io& io;
    };

    void retry_starved() noexcept;
    void end_all() noexcept;
    template <class Core>
    void end_one(Core& c) noexcept;
    void note_stray(std::string name);

    end_node end_{*this};
    strays strays_;
    const bool drives_read_side_;           // topology per_worker
    std::vector<connection_core*> starved_; // has room for every connection
    std::size_t connection_count_ = 0;
    bool worth_a_retry_ = false; // buffers have come back since the last retry
    retry_timer retry_{*this};
    connection_core* connections_ = nullptr;
    handle_core* others_ = nullptr;
    std::size_t rested_ = 0;        // since the last look of trim_
    std::size_t dropped_bytes_ = 0; // the same
    trim_timer trim_{*this};
};

} // namespace rota::io
