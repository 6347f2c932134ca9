#pragma once

#include <vector>

#include <rota/io/context.hpp>

#include "network.hpp"
#include "world.hpp"

#include "backend.hpp"
#include "buffer_group.hpp"

namespace sim {

/// A world with a network, and the two sides of the seam over it.
struct simulation {
    explicit simulation(const world::options& o);
    ~simulation();
    simulation(const simulation&) = delete;
    simulation& operator=(const simulation&) = delete;

    static simulation& here() noexcept { return *current; }

    world w;
    network net;
    std::vector<rota::io::buffer_group*> groups; // attached to a backend

    static simulation* current;
};

/// What a context is given instead of the kernel's.
rota::io::backend_source simulated_backends();

} // namespace sim
