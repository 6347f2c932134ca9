// The HTTP server under its clients once more, which speak TLS with it, and rest between requests.

#include <memory>
#include <utility>

#include "http_run.hpp"
#include "secure_peer.hpp"
#include "tls_files.hpp"

namespace sim {

void run_https() {
    namespace tls = rota::io::tls;
    random& r = here().rng();
    draw_tls_from(r.next());
    tls::client_options trusting;
    trusting.system_roots = false;
    trusting.roots = {tls_pair().certificate};
    const auto with = std::make_shared<const tls::snapshot>(trusting);
    const auto call = [&with, &r](const scenario& s) -> std::unique_ptr<peer> {
        auto p = std::make_unique<secure_peer>(port, with, "a.test");
        if (p->refused())
            return p;
        if (r.chance(100)) {
            (void)p->interrupt(r);
            return nullptr;
        }
        if (p->shake_hands())
            return p;
        here().require(s.ending() || memory::was_short(), "a handshake fails");
        return nullptr;
    };
    const auto open = [&r](rota::http::server_options& options) {
        options.tls.certificates = {tls_pair()};
        options.tls.handshakes_at_once = r.chance(500) ? 0 : 1'000;
        options.handshake_timeout = std::chrono::hours(9);
        options.limits.rest_after = std::chrono::milliseconds(r.between(1, 50));
    };
    serve_site(
        {.call = call, .open = open, .may_hurry = false, .pause = std::chrono::milliseconds(100)});
}

} // namespace sim
