#pragma once

#include <stop_token>
#include <string>
#include <utility>

#include <rota/http/hooks.hpp>
#include <rota/http/limits.hpp>
#include <rota/http/metrics.hpp>
#include <rota/http/response.hpp>
#include <rota/io/stream.hpp>
#include <rota/task.hpp>

namespace rota::http {

/// Counts a client that is counted among those that are open off, once.
class counted_open {
public:
    explicit counted_open(worker_counters& in) noexcept : in_(&in) {}
    counted_open(counted_open&& other) noexcept : in_(std::exchange(other.in_, nullptr)) {}
    counted_open& operator=(counted_open&&) = delete;
    ~counted_open() {
        if (in_ != nullptr)
            in_->connections_open.subtract(1);
    }

private:
    worker_counters* in_;
};

/// A connection that is another protocol's now. What is pointed to outlives it.
struct taken_connection {
    io::stream* client;
    const server_limits* limits;
    worker_counters* counters;
    const session_hooks* hooks; ///< or null
    std::stop_token draining;
    counted_open open;
    connection_taker taker;
    const request* asked;   ///< null: it is forgotten
    std::string asked_name; ///< for a report
};

/// Lets the taker have it, until that ends, and then the client read what it was sent. Apart from
/// the session, most of which is of no more use to a taker that may stay for hours.
[[nodiscard]] task<void> serve_taken(taken_connection of);

} // namespace rota::http
