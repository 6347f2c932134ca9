#pragma once

#include <rota/task.hpp>

#include "connection.hpp"

namespace jobs {

/// Brings the schema to the version that this program knows. Several servers may do it at once.
/// Throws store_error, also if a newer program has changed it. Where there is something to change
/// it sets the connection's patience to an hour, and leaves it so.
rota::task<void> migrate(postgres_connection* on);

} // namespace jobs
