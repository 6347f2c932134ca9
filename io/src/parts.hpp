#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <rota/io/context.hpp>
#include <rota/quiet_thread.hpp>
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
    quiet_thread read_thread;
    std::vector<quiet_thread> former_read_threads; // stuck in a handler, or ended
    std::atomic<bool> stopping{false};
    std::atomic<bool> stopped{false};

private:
    void make_sides(std::size_t index);
    void receive();
    void watch_receiving() noexcept;
    void attach(worker& w);
};

} // namespace rota::io
