#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include <rota/io/options.hpp>
#include <rota/runnable.hpp>
#include <rota/worker.hpp>

#include "buffer_group.hpp"
#include "output.hpp"
#include "read_side.hpp"
#include "slab.hpp"
#include "write_side.hpp"

namespace rota::io {

class connection_core;
class rest_keeper;

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

    // -- the baton holder
    buffer_group buffers;
    slab core_memory; // for connection_core

    /// Publishes returned buffers, re-arms those that went without, sends.
    void after_turn(bool lent) noexcept override;

    /// `c`'s receive ended for want of a buffer, or of memory: it is armed again at the end of the
    /// turn, or, if that has just failed (`again`) and no buffer has come back since, after 50 ms.
    void add_starved(connection_core& c, bool again) noexcept;
    void remove_starved(connection_core& c) noexcept;

    void add(connection_core& c) noexcept;
    void remove(connection_core& c) noexcept;
    /// One more connection has come to rest. Once many have, what they needed while they were awake
    /// goes back to the system.
    void count_rest() noexcept;
    /// The connections that rest with `keeper` do so no longer than that.
    void end_rests_by(const rest_keeper& keeper,
                      std::chrono::steady_clock::time_point until) noexcept;
    /// Aborts every connection of this worker, those too that only linger to send their last bytes.
    void abort_all() noexcept;

    /// Lets the worker do abort_all() in its next turn. Any thread, once.
    void request_abort_all() noexcept { home.post(abort_); }

private:
    struct abort_node : runnable {
        explicit abort_node(worker_io& w) noexcept : runnable(&run), io(w) {}
        static void run(runnable& r) noexcept { static_cast<abort_node&>(r).io.abort_all(); }
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

    abort_node abort_{*this};
    const bool drives_read_side_; // topology per_worker
    std::vector<connection_core*> starved_;
    bool worth_a_retry_ = false; // buffers have come back since the last retry
    retry_timer retry_{*this};
    connection_core* connections_ = nullptr;
    std::size_t rested_ = 0; // since the last look of trim_
    trim_timer trim_{*this};
};

} // namespace rota::io
