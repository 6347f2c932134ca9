#pragma once

#include <functional>
#include <memory>

#include <rota/http/access_log.hpp>
#include <rota/http/guard.hpp>
#include <rota/http/server.hpp>
#include <rota/io/context.hpp>
#include <rota/io/end_signals.hpp>

#include "inspection.hpp"
#include "jobs/service.hpp"
#include "memory_guard.hpp"
#include "port_file.hpp"
#include "settings.hpp"

namespace rota_http {

/// The sample application, wired together: queues, reactor, routes, server. Made and run by main().
class program {
public:
    /// Serves `more`, too, if it is given. Throws jobs::store_error if the store that was asked for
    /// cannot be had, and what io::context, http::server, http::guard and http::token_file throw
    /// for settings that cannot be had.
    explicit program(const settings& from, rota::http::router more = {});
    ~program();
    program(const program&) = delete;
    program& operator=(const program&) = delete;

    /// Serves until one of `signals`, then drains. With HTTPS their hangups call. Throws
    /// std::system_error if it cannot listen.
    void run(rota::io::end_signals& signals);

private:
    [[nodiscard]] rota::http::server_options server_options(const settings& from) const;
    [[nodiscard]] rota::http::router routes(const settings& from, rota::http::router more);
    /// Says where it listens, in the log and the file, which is given back if there is one.
    [[nodiscard]] std::unique_ptr<port_file> announce() const;

    const settings settings_;
    const std::shared_ptr<rota::http::access_log> access_log_; // or null
    rota::io::context context_;
    const std::unique_ptr<jobs::store> store_;
    jobs::service queues_;
    inspected inspected_;
    rota::http::server server_;
    const memory_gauge gauge_;
    memory_guard guard_;
};

} // namespace rota_http
