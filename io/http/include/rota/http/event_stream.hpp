#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include <rota/broadcast.hpp>
#include <rota/http/body.hpp>
#include <rota/http/request.hpp>
#include <rota/http/response.hpp>
#include <rota/io/shared_bytes.hpp>
#include <rota/mutex.hpp>
#include <rota/task.hpp>

namespace rota::http {

/// One server-sent event (WHATWG HTML, section 9.2). A value.
///
///     co_await to.send(http::server_event(text).id("7").type("reset"));
class server_event {
public:
    /// Takes data of any number of lines, ended by CR, LF or CRLF: the client gets them with LF
    /// between them, an empty text as one. It should be UTF-8.
    explicit server_event(std::string data) : data_(std::move(data)) {}

    /// Sets what the client sends in Last-Event-ID when it comes back. Throws std::invalid_argument
    /// for an id with CR, LF or NUL, which would be another line, or be ignored.
    server_event& id(std::string text) &;
    server_event&& id(std::string text) && { return std::move(id(std::move(text))); }
    server_event& id(std::uint64_t number) & { return id(std::to_string(number)); }
    server_event&& id(std::uint64_t number) && { return std::move(id(number)); }
    /// Sets what listeners are registered for: "message" for an event without. Throws
    /// std::invalid_argument as id() does.
    server_event& type(std::string text) &;
    server_event&& type(std::string text) && { return std::move(type(std::move(text))); }
    /// Sets how long the client waits before it comes back, from now on.
    server_event& retry(std::chrono::milliseconds time) &;
    server_event&& retry(std::chrono::milliseconds time) && { return std::move(retry(time)); }

    /// Returns the event in the form of text/event-stream, with the empty line at the end.
    [[nodiscard]] std::string text() const;
    void append_to(std::string& to) const;

private:
    std::string data_;
    std::string type_;
    std::optional<std::string> id_; // an empty one takes the client's away
    std::optional<std::chrono::milliseconds> retry_;
};

/// An event for any number of clients: written once, shared by all. Copies; any thread.
class shared_event {
public:
    /// Throws std::bad_alloc.
    explicit shared_event(const server_event& what) : bytes_(what.text()) {}
    [[nodiscard]] std::string_view text() const noexcept { return bytes_.view(); }
    /// Returns the bytes for an io::outbox.
    [[nodiscard]] const io::shared_bytes& bytes() const noexcept { return bytes_; }

private:
    io::shared_bytes bytes_;
};

struct event_stream_options {
    /// A comment is sent after silence for this long: proxies close what is silent, and a client
    /// that vanished is noticed only by writing. 0: never.
    std::chrono::milliseconds heartbeat = std::chrono::seconds(15);
    /// Sent first: how long the client waits before it comes back. Its own default is some seconds.
    std::optional<std::chrono::milliseconds> retry{};
    /// Ends the stream, in good order; give it server::drain_token(), and clients come back to the
    /// next server. A source that is to say goodbye waits for the drain itself.
    std::stop_token until{};
};

/// A stream of server-sent events to one client, for an EventSource in a browser, or curl -N.
///
///     routes.get("/ticks", [](http::request& r) -> task<http::response> {
///         co_return http::event_stream::answer(r, tick);
///     });
///     task<void> tick(http::event_stream& to) {
///         for (std::uint64_t n = to.last_event_number().value_or(0) + 1;; ++n) {
///             co_await to.send(http::server_event("tick").id(n));
///             co_await sleep_for(1s);
///         }
///     }
///
/// The stream ends when its source does. A waiting source is cancelled when the client has gone, or
/// options.until is requested; what it throws cuts the answer. A client that has closed only its
/// sending side is served on: it gets a comment at once and each second, by which it shows if it
/// has gone.
///
/// Belongs to the request; used by its source only, which sends one after the other.
class event_stream {
public:
    using source = std::move_only_function<task<void>(event_stream&)>;

    /// Returns the answer: 200, text/event-stream, not to be stored by caches or held back by
    /// proxies. May be given to HEAD. `produce` may be a coroutine lambda with captures: the
    /// response keeps it.
    [[nodiscard]] static response answer(request& asked, source produce,
                                         event_stream_options options = {});

    event_stream(const event_stream&) = delete;
    event_stream& operator=(const event_stream&) = delete;

    /// Sends an event, and waits while the client is slower: at most the server's high-water mark
    /// is queued for it. Throws std::system_error when the client has gone, operation_cancelled.
    task<void> send(const server_event& what);
    task<void> send(shared_event what);
    /// Sends several at once, each written by server_event::append_to(); they outlive the task.
    task<void> send_text(std::string_view events);
    /// Sends a line that clients do not see, or several.
    task<void> comment(std::string_view text);

    /// Sends what `from` sends from now on, to its end. A client that does not keep up misses
    /// events, or its stream ends, as `policy` says; whenever it has missed some it is first sent
    /// `on_lag`, if there is one.
    task<void> follow(broadcast<shared_event>& from, lag_policy policy = lag_policy::skip,
                      std::optional<shared_event> on_lag = std::nullopt);

    /// Returns the id of the last event that the client says it has seen: anything that may stand
    /// in a field, up to 1,024 bytes. Nothing if there is none, if it is longer, or if there are
    /// several fields.
    [[nodiscard]] std::optional<std::string_view> last_event_id() const noexcept;
    /// Returns last_event_id() as a number; nothing if it is not a number, or above `most`.
    [[nodiscard]] std::optional<std::uint64_t>
    last_event_number(std::uint64_t most = std::uint64_t{1} << 62) const noexcept;

private:
    using time_point = std::chrono::steady_clock::time_point;

    event_stream(request& asked, const event_stream_options& options, body_writer& to) noexcept
        : asked_(asked), options_(options), to_(to) {}
    static task<void> run(request* asked, source* produce, const event_stream_options* options,
                          body_writer* to);
    task<void> send_owned(std::string text);
    task<void> produce(source* from);
    task<void> watch();
    task<void> beat(std::chrono::milliseconds silence);

    request& asked_;
    const event_stream_options& options_;
    body_writer& to_;
    mutex writing_; // held while something is written
    time_point written_{};
};

/// Does what event_stream::last_event_id() does for any request.
[[nodiscard]] std::optional<std::string_view> last_event_id(const request& asked) noexcept;

} // namespace rota::http
