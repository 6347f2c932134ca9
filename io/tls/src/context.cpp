#include <rota/io/tls/context.hpp>

#include <exception>
#include <utility>

#include "certificate.hpp"
#include "context_state.hpp"

namespace rota::io::tls {

namespace {

std::vector<detail::file_stamp> stamps_of(const std::vector<certificate_files>& pairs,
                                          const std::vector<std::string>& others) {
    std::vector<detail::file_stamp> all;
    for (const certificate_files& each : pairs) {
        for (const std::string& path : {each.certificate, each.key, each.ocsp})
            all.emplace_back(path);
    }
    for (const std::string& path : others)
        all.emplace_back(path);
    return all;
}

} // namespace

std::vector<detail::file_stamp> context::state::stamps() const {
    if (server)
        return stamps_of(server->certificates, {server->client_ca, server->ticket_keys});
    std::vector<certificate_files> own;
    if (client->certificate)
        own.push_back(*client->certificate);
    return stamps_of(own, client->roots);
}

bool context::state::load(bool only_changed) {
    const std::lock_guard one_at_a_time(loading);
    std::vector<detail::file_stamp> now =
        stamps(); // what is written from here on is seen the next time
    if (only_changed && now == read)
        return false;
    try {
        take_files();
    } catch (const unusable_file&) {
        read = std::move(now);
        throw;
    } catch (const std::exception& e) { // the files may be good: the next look reads them again
        if (only_changed && said == e.what())
            return false;
        said = e.what();
        throw;
    }
    said.clear();
    read = std::move(now);
    return true;
}

void context::state::take_files() {
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

void context::reload() { state_->load(false); }
bool context::reload_changed() { return state_->load(true); }

std::vector<std::string> context::names() const { return state_->current()->names(); }

} // namespace rota::io::tls
