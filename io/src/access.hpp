#pragma once

#include <utility>

#include <rota/io/connection.hpp>
#include <rota/io/context.hpp>

namespace rota::io {

/// What the reactor needs of a context, and users do not.
struct context_access {
    /// The io state of a worker of this context; throws std::logic_error for one of another.
    [[nodiscard]] static worker_io& io_of(context& ctx, const worker& w);
};

/// What the reactor needs of a connection, and users do not.
struct connection_access {
    /// Takes the core out of the handle, which has nothing of it any more.
    [[nodiscard]] static connection_core* take(connection& from) noexcept {
        return std::exchange(from.core_, nullptr);
    }
    /// Gives it to a handle that has none, in which nobody can wait.
    static void give(connection& to, connection_core& core) noexcept {
        connection fresh(&core);
        to.core_ = std::exchange(fresh.core_, nullptr);
        to.stream::operator=(std::move(fresh));
    }
};

} // namespace rota::io
