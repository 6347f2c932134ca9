#pragma once

#include <functional>
#include <memory>

#include <rota/http/server.hpp>

#include "peer.hpp"
#include "scenario.hpp"

namespace sim {

/// How the clients of a site come to it.
struct way_in {
    /// Null where there is an excuse for that.
    std::function<std::unique_ptr<peer>(const scenario&)> call;
    std::function<void(rota::http::server_options&)> open{}; ///< what the server needs for them
    bool may_hurry = true; ///< in some runs time limits are as short as the network's delays
    nanoseconds pause{0};  ///< of a client between its requests, at most
};

/// Serves the site to clients that pipeline, chunk, wait, half-close and break off.
void serve_site(const way_in& by);

} // namespace sim
