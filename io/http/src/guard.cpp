#include <rota/http/guard.hpp>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include <sys/socket.h>

#include "answers.hpp"
#include "authority.hpp"
#include <rota/http/detail/request_access.hpp>
#include <rota/http/detail/syntax.hpp>
#include <rota/http/fields.hpp>
#include <rota/io/network.hpp>
#include <rota/sleep.hpp>
#include <rota/task_group.hpp>

namespace rota::http {
namespace {

bool changes_nothing(method m) noexcept {
    return m == method::get || m == method::head || m == method::options;
}

/// Whether the request is one that a page of another origin has sent.
bool comes_from_elsewhere(const request& req) noexcept {
    for (const header_field field : req.headers()) {
        if (fields::iequals(field.name, "Sec-Fetch-Site") &&
            fields::iequals(field.value, "cross-site")) {
            return true;
        }
    }
    return !is_of_own_origin(req);
}

/// What stands behind the scheme of an Authorization field, empty if that is another.
std::string_view bearer_token(std::string_view field) noexcept {
    constexpr std::string_view scheme = "Bearer ";
    if (!fields::iequals(field.substr(0, scheme.size()), scheme))
        return {};
    return fields::trim(field.substr(scheme.size()));
}

bool is_upper(char c) noexcept { return c >= 'A' && c <= 'Z'; }

/// RFC 3986 section 3.1, in lower case.
bool is_scheme(std::string_view text) noexcept {
    const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
    return !text.empty() && is_letter(text.front()) && std::ranges::all_of(text, [&](char c) {
        return is_letter(c) || syntax::is_digit(c) || c == '+' || c == '-' || c == '.';
    });
}

/// Some characters could stand in a host, but a pattern or a list is what was meant by them.
bool is_name_or_address(std::string_view host) noexcept {
    if (host.starts_with('['))
        return true;
    static constexpr auto of_name = syntax::detail::make_class("-_.");
    return !host.starts_with('.') && host.find("..") == std::string_view::npos &&
           std::ranges::all_of(host, [](char c) { return of_name[static_cast<unsigned char>(c)]; });
}

bool is_allowed(std::string_view allowed, const detail::authority& host) noexcept {
    const auto wanted = detail::parse_authority(allowed);
    if (!wanted || !detail::same_host(wanted->host, host.host))
        return false;
    if (!wanted->port || wanted->port == host.port)
        return true;
    return !host.port && (wanted->port == 80 || wanted->port == 443);
}

constexpr std::chrono::seconds look_interval{1};

task<void> cut_when_unknown(std::shared_ptr<const guard> by, request* req) {
    do
        co_await sleep_for(look_interval);
    while (!by->check(*req));
    throw http_error(401, "its token is not known any more");
}

/// What is streamed may go on for hours, as events do: a token that is taken out ends it.
task<void> produce_while_known(std::shared_ptr<const guard> by, request* req,
                               body_producer* produce, body_writer* to) {
    // NOLINTNEXTLINE(cppcoreguidelines-avoid-capturing-lambda-coroutines): the task keeps it
    auto body = [by, req, produce, to](task_group& both) -> task<void> {
        both.spawn(cut_when_unknown(by, req), "guard: is its token still known");
        co_await (*produce)(*to);
        both.request_stop();
    };
    co_await with_task_group(std::move(body));
}

task<response> pass_or_refuse(const std::shared_ptr<const guard>& by, bool has_tokens,
                              const error_page& page, request& req, next proceed) {
    if (const std::optional<guard::refusal> refused = by->check(req))
        return ready_task(guard::answer(*refused, page));
    if (!has_tokens)
        return proceed(req);
    return then(proceed(req), [by, req = &req](response& answer) {
        if (!answer.streamed())
            return;
        answer.producer() = [by, req,
                             inner = std::move(answer.producer())](body_writer& to) mutable {
            return produce_while_known(by, req, &inner, &to);
        };
    });
}

} // namespace

guard::guard(guard_options options) : options_(std::move(options)) {
    for (const std::string& each : options_.allowed_hosts) {
        const auto host = detail::parse_authority(each);
        if (!host || !is_name_or_address(host->host))
            throw std::invalid_argument('"' + each +
                                        "\" is no host, with or without a port: a name or an "
                                        "address, neither a pattern nor a list");
    }
    const auto sendable = [](char c) { return c >= ' ' && c < '\x7f' && c != '"' && c != '\\'; };
    if (!std::ranges::all_of(options_.realm, sendable))
        throw std::invalid_argument("a realm is printable ASCII without quotes");
}

bool guard::is_host_allowed(std::string_view host) const {
    if (options_.beyond_loopback && options_.allowed_hosts.empty())
        return true;
    const auto parsed = detail::parse_authority(host);
    if (!parsed)
        return false;
    if (detail::same_host(parsed->host, "localhost") || detail::is_loopback(parsed->host))
        return true;
    if (options_.beyond_loopback && detail::is_address(parsed->host))
        return true;
    return std::ranges::any_of(options_.allowed_hosts, [&](const std::string& allowed) {
        return is_allowed(allowed, *parsed);
    });
}

std::optional<guard::refusal> guard::check_browser(const request& req) const {
    // Both what a proxy says and what it was told itself: a page could say the former.
    const request_head& head = request_access::head(req);
    if (!is_host_allowed(req.host()) || !is_host_allowed(head.text(head.host)))
        return refusal{421, options_.host_advice};
    if (!changes_nothing(req.method()) && comes_from_elsewhere(req)) {
        return refusal{403, "this was sent by a page of another origin than Host; a proxy has to "
                            "pass Host on as it is"};
    }
    return std::nullopt;
}

std::optional<guard::refusal> guard::check_token(const request& req) const {
    std::string challenge = "Bearer realm=\"" + options_.realm + '"';
    bool given = false;
    bool valid = true;
    for (const header_field field : req.headers()) {
        if (!fields::iequals(field.name, "Authorization"))
            continue;
        const std::string_view token = bearer_token(field.value);
        if (token.empty())
            continue;
        given = true;
        valid &= options_.tokens->contains(token);
    }
    if (given && valid)
        return std::nullopt;
    if (!given)
        return refusal{401, "this needs a token: Authorization: Bearer TOKEN", challenge};
    challenge += ", error=\"invalid_token\"";
    return refusal{401, "this token is not known", challenge};
}

std::optional<guard::refusal> guard::check(const request& req) const {
    auto refused = check_browser(req);
    if (refused || options_.tokens == nullptr)
        return refused;
    return check_token(req);
}

response guard::answer(const refusal& why, const error_page& page) {
    const std::string reason(why.reason);
    response made = error_answer(page ? &page : nullptr, http_error(why.status, reason));
    if (!why.challenge.empty())
        made.header("WWW-Authenticate", why.challenge);
    return made;
}

middleware guard::around(std::shared_ptr<const guard> self, error_page page) {
    return [self = std::move(self), page = std::move(page)](request& req, next proceed) {
        return pass_or_refuse(self, self->options_.tokens != nullptr, page, req, proceed);
    };
}

bool is_of_own_origin(const request& req) noexcept {
    for (const header_field field : req.headers()) {
        if (!fields::iequals(field.name, "Origin"))
            continue;
        // A page in clear is of another origin; the other way round a proxy may have been between.
        if (req.secure() && !field.value.starts_with("https://"))
            return false;
        if (!detail::same_origin(field.value, req.host()))
            return false;
    }
    return true;
}

bool is_origin(std::string_view text) {
    constexpr std::string_view behind_scheme = "://";
    const std::size_t end = text.find(behind_scheme);
    if (end == std::string_view::npos)
        return text == "null";
    const std::string_view scheme = text.substr(0, end);
    text.remove_prefix(end + behind_scheme.size());
    const auto where = detail::parse_authority(text);
    // Some characters could stand in a host, but a pattern or a list is what was meant by them.
    if (!is_scheme(scheme) || scheme == "ws" || scheme == "wss" || !where ||
        !detail::is_as_browsers_write(where->host) || std::ranges::any_of(text, is_upper) ||
        text.find_first_of("*,") != std::string_view::npos)
        return false;
    if (!where->port)
        return text == where->host;
    if ((scheme == "http" && where->port == 80) || (scheme == "https" && where->port == 443))
        return false;
    return text.substr(where->host.size() + 1) == std::to_string(*where->port);
}

bool is_local(const io::endpoint& where) {
    if (where.family() == AF_UNIX)
        return true;
    // By its bytes: its text may have a scope behind it, as ::1%lo.
    const auto address = io::ip_address::of(where);
    return address && (io::network::parse("127.0.0.0/8").contains(*address) ||
                       io::network::parse("::1").contains(*address));
}

} // namespace rota::http
