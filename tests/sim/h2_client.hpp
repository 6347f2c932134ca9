#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "access_book.hpp"
#include "memory.hpp"
#include "scenario.hpp"

namespace sim {

/// The server, and what it knows of its clients.
struct h2_host {
    const scenario* s;
    std::uint32_t streams_max; // of a connection
    bool large;                // there is room for large contents
    std::chrono::milliseconds drain_timeout{};
    std::optional<time_point> drains{}; // since when
    std::set<std::string> waiting{};    // handlers that do so until they are stopped
    std::set<std::string> begun{};      // all of these that there were
    std::size_t clients = 0;            // so far
    access_book log{};                  // but for WebSockets

    /// Whether what has been begun is to be served.
    [[nodiscard]] bool serves() const {
        if (memory::was_short() || s->lingers_shortly())
            return false;
        return !s->ending() || (drains && here().now() < *drains + drain_timeout);
    }
};

/// What one client goes through: asks for many things at once, through windows that change, and
/// gives some of them up.
void visit_by_http2(h2_host* in);

} // namespace sim
