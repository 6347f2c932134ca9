#include "tls.hpp"

#include <exception>
#include <string>
#include <utility>

#include <rota/blocking.hpp>
#include <rota/errors.hpp>
#include <rota/http/detail/request_access.hpp>
#include <rota/http/headers.hpp>
#include <rota/io/log.hpp>
#include <rota/sleep.hpp>

namespace rota_http {

void add_tls(rota::http::server_options& to, const settings& from) {
    if (!from.tls.port)
        return;
    to.listen_tls.push_back(rota::io::endpoint::ip(from.host, *from.tls.port));
    to.handshake_timeout = from.tls.handshake_timeout;
    to.tls.client_ca = from.tls.client_ca;
    to.tls.ticket_keys = from.tls.ticket_keys;
    for (std::size_t i = 0; i < from.tls.certificates.size(); ++i) {
        to.tls.certificates.push_back({.certificate = from.tls.certificates[i],
                                       .key = from.tls.keys[i],
                                       .ocsp = from.tls.certificates[i] + ".ocsp"});
    }
}

void add_alternatives(rota::http::router& to, const settings& from) {
    if (from.tls.alt_svc.empty())
        return;
    rota::http::headers made; // checks what it is given
    made.add("Alt-Svc", from.tls.alt_svc);
    to.use([line = std::string(made.wire())](rota::http::request& req, rota::http::next proceed) {
        if (!req.secure())
            rota::http::request_access::facts(req).answer_fields += line; // of errors, too
        return proceed(req);
    });
}

rota::task<void> watch_certificates(rota::http::server* of, std::chrono::milliseconds interval) {
    const auto look = [of] { return of->reload_changed_certificates(); };
    for (;;) {
        co_await rota::sleep_for(interval);
        try {
            if (co_await rota::blocking(look))
                rota::log::info("certificates have changed, and been read again");
        } catch (const rota::operation_cancelled&) {
            throw;
        } catch (const std::exception& e) { // or there is no thread for it
            rota::log::error("--tls-watch: certificates stay as they were: {}", e.what());
        }
    }
}

void reload_certificates(rota::http::server& of) noexcept {
    try {
        of.reload_certificates();
        rota::log::info("SIGHUP: certificates have been read again");
    } catch (const std::exception& e) {
        rota::log::error("SIGHUP: certificates stay as they were: {}", e.what());
    }
}

} // namespace rota_http
