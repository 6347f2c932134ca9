#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rota/http/handler.hpp>
#include <rota/http/request.hpp>
#include <rota/http/response.hpp>
#include <rota/http/router.hpp>
#include <rota/http/token_file.hpp>
#include <rota/io/endpoint.hpp>

namespace rota::http {

struct guard_options {
    /// True if the server listens where other machines reach it; see is_local(). Then any Host is
    /// accepted, unless hosts are allowed: then one of those or any address.
    bool beyond_loopback = false;
    /// Further hosts, each with or without a port: "queue.example.org", "[2001:db8::1]:8080". No
    /// patterns.
    std::vector<std::string> allowed_hosts{};
    /// What a client with another Host is told; a program names its own option that helps.
    std::string host_advice =
        "Host is neither localhost, nor a loopback address, nor a host that was allowed";
    /// If set, requests need one of its tokens.
    std::shared_ptr<token_file> tokens{};
    std::string realm = "rota"; ///< of the tokens; printable ASCII without '"' and '\'
};

/// Keeps browsers from being used against a server by pages of others, and keeps out clients that
/// have no token. For what a server offers to some only: a browser lets any page send requests to
/// any server that it reaches, which includes those that listen on this machine only.
///
/// In this order, the first that fails is the answer:
/// - 421 if Host, or the host of an absolute target, is another than localhost, a loopback address
///   with any port, or one of the allowed, compared without regard to case: a page whose own name
///   now resolves to this machine (DNS rebinding) sends that name. An allowed host without a port
///   stands for every port; with one a Host without a port means 80 or 443. HTTP/1.0 without a Host
///   is refused, too.
/// - 403 if a method other than GET, HEAD and OPTIONS comes with `Sec-Fetch-Site: cross-site`, or
///   with an Origin that is not the one of Host: another host or port (RFC 6454), or "null".
/// - 401 with WWW-Authenticate unless `Authorization: Bearer` has a token (RFC 6750), if there are
///   tokens.
///
/// Immutable; any thread.
class guard {
public:
    struct refusal {
        int status;
        std::string_view reason;
        std::string challenge{}; ///< for WWW-Authenticate, empty if none
    };

    /// Throws std::invalid_argument if an allowed host is not a host, or the realm cannot be sent.
    explicit guard(guard_options options);

    /// Returns what to answer instead, if anything.
    [[nodiscard]] std::optional<refusal> check(const request& req) const;
    /// Does the same without the tokens: for what a browser needs before it has one.
    [[nodiscard]] std::optional<refusal> check_browser(const request& req) const;
    /// Returns the answer of a refusal, made by `page` if it is set, else a line of text.
    [[nodiscard]] static response answer(const refusal& why, const error_page& page);

    /// Returns middleware that does check() around everything in a router. A streamed answer is cut
    /// within a second or two of its token being taken out.
    [[nodiscard]] static middleware around(std::shared_ptr<const guard> self, error_page page = {});

private:
    [[nodiscard]] bool is_host_allowed(std::string_view host) const;
    [[nodiscard]] std::optional<refusal> check_token(const request& req) const;

    const guard_options options_;
};

/// Returns whether a request comes from a page of the server's own origin, by Host, or from
/// something other than a browser: it has no Origin field. See guard; for what a browser lets pages
/// of others do by GET, as WebSocket. Any thread.
[[nodiscard]] bool is_of_own_origin(const request& req) noexcept;

/// Returns whether it is what a browser may send in Origin: "null", or scheme, host and perhaps
/// port, in lower case, without the port that is the scheme's own, and nothing after them (RFC 6454
/// section 6.2); an address at its shortest; not ws and wss, which no page has. Any thread.
[[nodiscard]] bool is_origin(std::string_view text);

/// Returns whether only this machine reaches what listens there: a loopback address or a Unix
/// socket.
[[nodiscard]] bool is_local(const io::endpoint& where);

} // namespace rota::http
