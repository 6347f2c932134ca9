#pragma once

#include <any>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <rota/http/body.hpp>
#include <rota/http/detail/request_facts.hpp>
#include <rota/http/request_head.hpp>
#include <rota/http/values.hpp>
#include <rota/task.hpp>

namespace rota::json {
class document;
struct read_options;
} // namespace rota::json

namespace rota::io::tls {
class stream;
}

namespace rota::http {

class exchange;
struct form;
struct form_limits;
struct request_cookie;

/// Reads a content as JSON: in <rota/http/json.hpp>, which request::json() needs.
template <class T>
struct json_content;

/// What the router found in a path: the values of the pattern's parameters, as offsets into the
/// path.
struct route_values {
    static constexpr std::size_t count_max = 8;
    const std::vector<std::string>* names = nullptr; // of the route
    std::array<text_span, count_max> values{};
};

/// A request as its handler sees it. Used by its handler only.
///
/// It lives until it has been answered, with a streaming response until the producer has ended: a
/// producer may keep a reference to it, and read the content while it writes. Views of it live as
/// long, but those that a plain function took end with the function: a producer takes its own.
class request {
public:
    /// All of them outlive the request; `body` is null if there is no content to read, `on` if
    /// there is no client.
    request(const request_head& head, body_reader* body, exchange* on = nullptr) noexcept
        : head_(&head), body_(body), on_(on) {}
    request(const request&) = delete;
    request& operator=(const request&) = delete;

    [[nodiscard]] http::method method() const noexcept { return head_->method; }
    /// Returns 1 or 2: HTTP/1.x, HTTP/2.
    [[nodiscard]] int version_major() const noexcept { return head_->major; }
    /// Returns 0 or 1: HTTP/1.x; 1 in HTTP/2.
    [[nodiscard]] int version_minor() const noexcept { return head_->minor; }
    /// Returns the protocol by which it came: "HTTP/1.0", "HTTP/1.1", "HTTP/2".
    [[nodiscard]] std::string_view protocol() const noexcept { return head_->protocol(); }
    /// Returns the request target as it came.
    [[nodiscard]] std::string_view target() const noexcept { return head_->text(head_->target); }
    /// Returns the path, percent-decoded. Nothing else is done to it: ".." and "//" stay, and an
    /// encoded slash is a slash here (but separated no segments for the router), so a handler that
    /// makes a file name of it must check it.
    [[nodiscard]] std::string_view path() const noexcept;
    /// Returns the path as it came.
    [[nodiscard]] std::string_view raw_path() const noexcept;
    /// Returns what follows the '?', as it came.
    [[nodiscard]] std::string_view query_string() const noexcept {
        return head_->text(head_->query);
    }
    /// Returns the first query parameter of that name, decoded ('+' is a space); "" for one without
    /// a value.
    [[nodiscard]] std::optional<std::string> query(std::string_view name) const;
    /// Returns the same as a T: an integer, a floating-point number, a bool or what text_value<T>
    /// reads. Throws http_error(400), with what was expected and what came, for one that is there
    /// and is not that.
    template <class T>
    [[nodiscard]] std::optional<T> query(std::string_view name) const {
        const std::optional<std::string> text = query(name);
        if (!text)
            return std::nullopt;
        return detail::value_of<T>("query parameter", name, *text);
    }
    /// Returns the same, or `fallback` where there is none: r.query<int>("limit", 20).
    template <class T>
    [[nodiscard]] T query(std::string_view name, std::type_identity_t<T> fallback) const {
        std::optional<T> found = query<T>(name);
        return found ? *std::move(found) : std::move(fallback);
    }
    /// Returns the same, from `least` to `most`: r.query<int>("limit", 20, 1, 100).
    template <class T>
    requires std::is_arithmetic_v<T>
    [[nodiscard]] T query(std::string_view name, std::type_identity_t<T> fallback,
                          std::type_identity_t<T> least, std::type_identity_t<T> most) const {
        const std::optional<std::string> text = query(name);
        if (!text)
            return fallback;
        const std::optional<T> found = text_value<T>::parse(*text);
        if (!found || *found < least || *found > most) {
            detail::fail_value("query parameter", name,
                               std::to_string(least) + " to " + std::to_string(most), *text);
        }
        return *found;
    }
    /// Returns a parameter that has to be there: http_error(400) where there is none.
    template <class T>
    [[nodiscard]] T required_query(std::string_view name) const {
        std::optional<T> found = query<T>(name);
        if (!found)
            detail::fail_missing("query parameter", name, text_value<T>::expected());
        return *std::move(found);
    }
    /// Returns every query parameter, decoded, in order.
    [[nodiscard]] std::vector<std::pair<std::string, std::string>> query_parameters() const;

    [[nodiscard]] header_list headers() const noexcept { return head_->headers(); }
    /// Returns the value of the first field of that name.
    [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const noexcept {
        return headers().find(name);
    }
    /// Returns what the client sent in Cookie fields, in order; needs <rota/http/cookie.hpp>. Views
    /// of the request.
    [[nodiscard]] std::vector<request_cookie> cookies() const;
    /// Returns the value of the first cookie of that name, as it came.
    [[nodiscard]] std::optional<std::string_view> cookie(std::string_view name) const noexcept;
    /// Returns host[:port] that the request is for; empty if it had none. After trusted_proxies()
    /// it is what the proxy was asked for.
    [[nodiscard]] std::string_view host() const noexcept {
        return facts_ && facts_->host ? std::string_view(*facts_->host) : head_->text(head_->host);
    }

    /// Returns the value of a parameter of the route's pattern, decoded; of an unnamed wildcard
    /// under "*". Throws std::out_of_range if the pattern has none of that name.
    [[nodiscard]] std::string_view param(std::string_view name) const;
    /// Returns the same as a T, as query() does: throws http_error(400) for one that is not that.
    template <class T>
    [[nodiscard]] T param(std::string_view name) const {
        return detail::value_of<T>("parameter", name, param(name));
    }

    /// Returns the reader of the content, piece by piece.
    [[nodiscard]] body_reader& body() noexcept;
    /// Returns the content, whole: body().read_all().
    task<std::string> text(std::size_t bytes_max = std::numeric_limits<std::size_t>::max()) {
        return body().read_all(bytes_max);
    }

    /// Returns the content as JSON: a T by its description (<rota/json/describe.hpp>), or a
    /// json::document. Throws http_error: 400 for what is not JSON or not as described, 413 for
    /// more than `bytes_max`. Needs <rota/http/json.hpp>.
    template <class T = json::document>
    task<T> json(std::size_t bytes_max = std::numeric_limits<std::size_t>::max()) {
        return json_content<T>::read(this, bytes_max);
    }
    /// Does the same, as strictly as `how` says: r.json<item>({.refuse_unknown = true}).
    template <class T = json::document>
    task<T> json(const json::read_options& how,
                 std::size_t bytes_max = std::numeric_limits<std::size_t>::max()) {
        return json_content<T>::read(this, bytes_max, how);
    }

    /// Returns the content as a form: its fields, and its files (form::read()). Throws http_error:
    /// 415 for another type of content, 400 for what is malformed, 413 beyond the limits. Needs
    /// <rota/http/form.hpp>, which has form_reader, too, for files of any size.
    template <class T = http::form>
    task<T> form() {
        return T::read(this);
    }
    template <class T = http::form>
    task<T> form(const form_limits& most) {
        return T::read(this, most);
    }
    /// Does the same, with each file given to `on_file` (form::file_taker).
    template <class FileTaker, class T = http::form>
    task<T> form(const form_limits& most, FileTaker on_file) {
        return T::read(this, most, std::move(on_file));
    }

    /// Returns the pattern of the route that it was given to, with the prefixes of routers around
    /// that: "/items/{id}"; empty if there was none. Lives as long as the router.
    [[nodiscard]] std::string_view route() const noexcept {
        return pattern_ != nullptr ? std::string_view(*pattern_) : std::string_view();
    }
    /// Returns its id within request_id(); else an empty text.
    [[nodiscard]] std::string_view id() const noexcept {
        return facts_ ? std::string_view(facts_->id) : std::string_view();
    }
    /// Returns the user within basic_auth() and bearer_auth(); else an empty text.
    [[nodiscard]] std::string_view user() const noexcept {
        return facts_ ? std::string_view(facts_->user) : std::string_view();
    }
    /// Returns its place in a trace within tracing(); else null. Lives as long as the request.
    [[nodiscard]] const trace_context* trace() const noexcept {
        return facts_ && facts_->trace ? &*facts_->trace : nullptr;
    }

    /// Returns whether the client asks to go on in this protocol (Upgrade, RFC 9110 section 7.8),
    /// and may: then response::upgrade() does it. HEAD may not: it is for what GET would say of the
    /// resource (section 9.3.2). Names compare without regard to case.
    [[nodiscard]] bool offers_upgrade(std::string_view protocol) const noexcept;

    /// Returns where the client is, as the listener writes it: "192.0.2.1:4711",
    /// "[2001:db8::1]:4711", "unix:..."; empty where that is not known. After trusted_proxies() it
    /// is what the proxy says: perhaps without a port, "unknown", or a word that begins with '_'.
    [[nodiscard]] std::string_view peer() const noexcept;

    /// Returns the TLS connection that it came by, or null: <rota/io/tls/stream.hpp> has the
    /// client's certificate, the name that it asked for, and more.
    [[nodiscard]] const io::tls::stream* tls() const noexcept;
    /// Returns whether it came by TLS, so that its scheme is https. A proxy in front may have ended
    /// that: after trusted_proxies() it is what the proxy says.
    [[nodiscard]] bool secure() const noexcept {
        return facts_ && facts_->secure ? *facts_->secure : tls() != nullptr;
    }

    /// Waits until the client has gone: has closed the connection, or at least its sending side, or
    /// the connection has failed. For a handler that waits long for something else: it runs beside
    /// that, in a task_group, and has ended before the handler answers; several may wait. Only once
    /// the content has been read to its end. A client that sends further requests meanwhile has not
    /// gone. Throws operation_cancelled.
    [[nodiscard]] task<void> disconnected();

    /// Holds what middleware wants to tell the handler.
    [[nodiscard]] std::any& context() noexcept { return context_; }
    [[nodiscard]] const std::any& context() const noexcept { return context_; }

private:
    friend struct request_access;

    const request_head* head_;
    body_reader* body_;
    exchange* on_;
    const route_values* route_ = nullptr;
    const std::string* pattern_ = nullptr; // of the route, or none
    std::string decoded_path_;             // if the path has escapes
    std::any context_;
    std::unique_ptr<request_facts> facts_; // or none
};

} // namespace rota::http
