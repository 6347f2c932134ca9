#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <rota/io/detail/file_stamp.hpp>
#include <rota/io/tls/context.hpp>
#include <rota/worker_local.hpp>

#include "handshake_place.hpp"
#include "snapshot.hpp"
#include "ticket_keys.hpp"

namespace rota::io::tls {

/// Shared with the connections.
struct context::state {
    explicit state(server_options o) : server(std::move(o)) { load(false); }
    explicit state(client_options o) : client(std::move(o)) { load(false); }

    /// Reads the files; `only_changed`: if one is another than when that was done last. True if
    /// they have been read.
    bool load(bool only_changed);
    void take_files();
    [[nodiscard]] std::vector<detail::file_stamp> stamps() const;
    [[nodiscard]] std::shared_ptr<const snapshot> current() const {
        const std::lock_guard guard(lock);
        return loaded;
    }

    // One of them is set.
    const std::optional<server_options> server{};
    const std::optional<client_options> client{};
    /// Outlives every snapshot: these are in connections, which share this.
    ticket_keys tickets;
    worker_local<handshake_place> places;

    std::mutex loading;
    // by load()
    std::vector<detail::file_stamp> read; // the files when they were read, or found unusable
    std::string said;                     // why they could not be read, last
    mutable std::mutex lock;
    std::shared_ptr<const snapshot> loaded;
};

} // namespace rota::io::tls
