#include <rota/io/tls/context.hpp>

#include <utility>

#include "context_state.hpp"

namespace rota::io::tls {

void context::state::load() {
    std::shared_ptr<const snapshot> fresh = server
                                                ? std::make_shared<const snapshot>(*server, tickets)
                                                : std::make_shared<const snapshot>(*client);
    if (server)
        tickets.load(server->ticket_keys);
    const std::lock_guard guard(lock);
    loaded.swap(fresh);
}

context::context(server_options options) : state_(std::make_shared<state>(std::move(options))) {}
context::context(client_options options) : state_(std::make_shared<state>(std::move(options))) {}
context::~context() = default;
context::context(context&&) noexcept = default;
context& context::operator=(context&&) noexcept = default;

void context::reload() { state_->load(); }

std::vector<std::string> context::names() const { return state_->current()->names(); }

} // namespace rota::io::tls
