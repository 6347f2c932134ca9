#include "proxies.hpp"

#include <string>
#include <vector>

#include <rota/http/trusted_proxies.hpp>
#include <rota/io/network.hpp>

namespace rota_http {

void trust_proxies(rota::http::router& to, const settings& from) {
    if (from.proxies.trusted.empty())
        return;
    to.use(rota::http::trusted_proxies(
        {.from = rota::io::network_list(from.proxies.trusted), .fields = from.proxies.fields}));
}

void add_proxies(rota::http::server_options& to, const settings& from) {
    to.trusted_gateways = rota::io::network_list(from.proxies.trusted);
    if (!from.proxies.protocol)
        return;
    static const std::vector<std::string> this_machine{"127.0.0.0/8", "::1", "unix"};
    to.proxy_protocol =
        rota::io::network_list(from.proxies.trusted.empty() ? this_machine : from.proxies.trusted);
}

} // namespace rota_http
