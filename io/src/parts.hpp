#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include <rota/detail/quiet_thread.hpp>
#include <rota/io/context.hpp>
#include <rota/runtime.hpp>

#include "backend.hpp"
#include "read_side.hpp"
#include "worker_io.hpp"
#include "write_side.hpp"

namespace rota::io {

/// What a context is made of. Members are destroyed from the bottom up: the runtime before the
/// sides that serve it.
struct context::parts {
    parts(const context_options& given, backend_kind kind, backend_source from);
    /// On what the options ask for, or with `automatic` on what can be had. Throws
    /// std::invalid_argument for the options, and std::runtime_error.
    static std::unique_ptr<parts> on_kernel(const context_options& given);
    void start();
    /// Says what handles the program still held at the end, if any.
    void report_strays() const noexcept;

    const context_options options;
    std::string why_not; // why it is not io_uring, if that was wanted
    const backend_kind backend;
    const backend_source source;
    /// One each for `split`, one for each worker for `per_worker`; they do not move.
    std::array<std::unique_ptr<read_side>, runtime::max_workers> reads;
    std::array<std::unique_ptr<write_side>, runtime::max_workers> writes;
    std::array<std::unique_ptr<worker_io>, runtime::max_workers> per_worker; // by worker index
    std::optional<runtime> workers;

    // split
    struct receiver {
        quiet_thread thread;
        std::atomic<bool> ended{false};
    };
    /// The last one receives; those before it are stuck in a handler, or have ended.
    std::list<receiver> receivers;
    std::atomic<bool> stopping{false};
    std::mutex stop_lock; // held throughout context::stop()
    std::atomic<bool> stopped{false};

private:
    bool said_so_ = false; // that nobody could take over; the watch's

    void make_sides(std::size_t index);
    void receive();
    void watch_receiving() noexcept;
    [[nodiscard]] bool replace_receiver();
    void start_receiver(std::function<bool()> drives);
    void attach(worker& w);
};

} // namespace rota::io
