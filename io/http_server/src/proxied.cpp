#include "proxied.hpp"

#include <string_view>
#include <utility>

#include <rota/errors.hpp>
#include <rota/io/proxy_header.hpp>

#include "idle_wait.hpp"
#include "refuse_in_clear.hpp"

namespace rota::http {
namespace {

using clock = std::chrono::steady_clock;

constexpr std::string_view without_header =
    "Connections from your address begin with a header of the PROXY protocol.\n";

/// Whether it looks like a request: a record of TLS, say, does not begin with a letter.
bool is_text(std::string_view bytes) noexcept {
    return !bytes.empty() && bytes.front() >= 'A' && bytes.front() <= 'z';
}

} // namespace

task<std::optional<std::string>> proxied_peer(io::connection* client, const server_limits* limits,
                                              std::stop_token draining) {
    const clock::time_point until = clock::now() + limits->header_timeout;
    const bool begins = co_await wait_idle(client, until, draining, limits->drain_grace);
    if (!begins)
        co_return std::nullopt;
    try {
        const io::proxy_header said = co_await io::read_proxy_header(client, until);
        co_return said.source ? said.source->to_string() : client->peer().to_string();
    } catch (const timed_out&) {
        co_return std::nullopt;
    } catch (const io::proxy_header_error&) {
        // Below: it may take a wait.
    }
    if (is_text(client->buffered()))
        co_await refuse_in_clear(client, without_header, clock::now() + limits->linger_timeout,
                                 std::move(draining));
    client->consume(client->buffered().size()); // or the end of it would be a reset
    co_return std::nullopt;
}

} // namespace rota::http
