#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include <rota/io/context.hpp>

#include "mail.hpp"
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
    mail post{net};
    std::vector<rota::io::buffer_group*> groups; // attached to a backend
    std::map<const void*, std::uint64_t> told;   // how often, by condition
    bool dedicated = false;                      // the topology

    /// With `dedicated`: the thread is one of those called so.
    void check_role(std::string_view name) const;

    static simulation* current;
};

/// What a context is given instead of the kernel's. Rings belong to one thread each, in some runs,
/// or are for any, as epoll is.
rota::io::backend_source simulated_backends(rota::io::topology how);

} // namespace sim
