#include <rota/http/request.hpp>

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include <rota/http/cookie.hpp>
#include <rota/http/detail/exchange.hpp>
#include <rota/http/detail/request_access.hpp>
#include <rota/http/fields.hpp>
#include <rota/http/percent.hpp>
#include <rota/sleep.hpp>

#include "routed_path.hpp"

namespace rota::http {
namespace {

/// The body of a request that has none.
class empty_body final : public body_reader {
public:
    task<std::string_view> read() override { co_return std::string_view{}; }
    [[nodiscard]] std::optional<std::uint64_t> length() const noexcept override { return 0; }
    void limit(std::uint64_t) override {}
    [[nodiscard]] header_list trailers() const noexcept override { return {nullptr, none_}; }

private:
    std::vector<field_span> none_;
};

/// Takes "name=value" off the front of a query; false at its end. Both are still encoded.
bool next_parameter(std::string_view& rest, std::string_view& name, std::string_view& value) {
    while (rest.starts_with('&'))
        rest.remove_prefix(1);
    if (rest.empty())
        return false;
    const std::size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view pair = rest.substr(0, end);
    rest.remove_prefix(end);
    const std::size_t equals = pair.find('=');
    name = pair.substr(0, equals);
    value = equals == std::string_view::npos ? std::string_view{} : pair.substr(equals + 1);
    return true;
}

} // namespace

std::string_view request::path() const noexcept {
    return head_->path_escaped ? std::string_view(decoded_path_) : raw_path();
}

std::string_view request::raw_path() const noexcept {
    return head_->path.size > 0 ? head_->text(head_->path) : std::string_view("/");
}

std::optional<std::string> request::query(std::string_view name) const {
    std::string_view rest = query_string();
    std::string_view key;
    std::string_view value;
    while (next_parameter(rest, key, value)) {
        const bool plain = key.find_first_of("%+") == std::string_view::npos;
        if (plain ? key == name : decode_form(key) == name)
            return decode_form(value);
    }
    return std::nullopt;
}

std::vector<std::pair<std::string, std::string>> request::query_parameters() const {
    std::vector<std::pair<std::string, std::string>> all;
    std::string_view rest = query_string();
    std::string_view key;
    std::string_view value;
    while (next_parameter(rest, key, value))
        all.emplace_back(decode_form(key), decode_form(value));
    return all;
}

std::string_view request::param(std::string_view name) const {
    if (route_ != nullptr && route_->names != nullptr) {
        for (std::size_t i = 0; i < route_->names->size(); ++i) {
            if ((*route_->names)[i] != name)
                continue;
            return path().substr(route_->values[i].offset, route_->values[i].size);
        }
    }
    throw std::out_of_range("the route has no parameter " + std::string(name));
}

std::vector<request_cookie> request::cookies() const { return read_cookies(headers()); }

std::optional<std::string_view> request::cookie(std::string_view name) const noexcept {
    return find_cookie(headers(), name);
}

bool request::offers_upgrade(std::string_view protocol) const noexcept {
    return version_minor() >= 1 && method() != method::head &&
           fields::list_has(headers(), "Connection", "upgrade") &&
           fields::list_has(headers(), "Upgrade", protocol);
}

body_reader& request::body() noexcept {
    static empty_body none;
    // cppcheck-suppress returnTempReference ; both are objects that stay
    return body_ != nullptr ? *body_ : none;
}

std::string_view request_access::prepare_path(request& of) {
    if (of.head_->path_escaped)
        decode_path(of.raw_path(), of.decoded_path_);
    return of.path();
}

void request_access::set_route(request& of, const route_values* found) noexcept {
    of.route_ = found;
    if (of.head_->path_escaped) {
        std::replace(of.decoded_path_.begin(), of.decoded_path_.end(), encoded_slash, '/');
    }
}

std::string_view request::peer() const noexcept {
    if (facts_ && facts_->peer)
        return *facts_->peer;
    return on_ != nullptr ? on_->peer() : "";
}

const server_metrics* request_access::metrics(const request& of) noexcept {
    return of.on_ != nullptr ? of.on_->metrics() : nullptr;
}

memory_budget* request_access::content_memory(const request& of) noexcept {
    return of.on_ != nullptr ? of.on_->content_memory() : nullptr;
}

const io::tls::stream* request::tls() const noexcept {
    return on_ != nullptr ? on_->tls() : nullptr;
}

task<void> request_access::lost(const request* of) {
    const bool gone = of->on_ != nullptr && co_await of->on_->client_gone();
    if (!gone)
        co_await sleep_until(std::chrono::steady_clock::time_point::max());
}

task<void> request::disconnected() {
    if (on_ == nullptr)
        co_await sleep_until(std::chrono::steady_clock::time_point::max());
    else
        co_await on_->client_gone();
}

} // namespace rota::http
