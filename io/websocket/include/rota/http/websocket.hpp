#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <rota/http/handler.hpp>
#include <rota/http/request.hpp>
#include <rota/http/response.hpp>
#include <rota/io/outbox.hpp>
#include <rota/io/shared_bytes.hpp>
#include <rota/io/stream.hpp>
#include <rota/task.hpp>

namespace rota::http {

namespace ws {
class conversation;
}

/// A message of a client, or a piece of one: see websocket::read().
struct websocket_message {
    std::string_view data;
    bool text = false; ///< it is UTF-8; else it is binary
    bool last = true;  ///< of its pieces
};

/// A WebSocket to one client (RFC 6455), in the hands of the function that serves it:
///
///     task<void> echo(http::websocket ws) {
///         while (auto message = co_await ws.read())
///             co_await ws.send(*message);
///     }
///     routes.get("/echo", http::serve_websockets(echo));
///
/// It answers pings and the closing handshake itself, and sends pings to a client that is silent,
/// all of it while something waits in read(): so that is called again and again. Once the
/// conversation is over, by whichever side, read() returns nothing, and close_code() tells how;
/// when the function returns it is closed (1000), and 1011 if it throws, which is reported.
///
/// A handle: copies are the same WebSocket. Valid until the function has returned; for that
/// function and its children on the same worker (task_group). One of them at a time reads; any
/// number may send. Others, on any thread, send by way of an io::outbox: see serve().
class websocket {
public:
    explicit websocket(ws::conversation& of) noexcept : conversation_(&of) {}

    // -- reading

    /// Returns the next message, whole; nothing once the conversation is over: closed by either
    /// side, the client has gone or broken the protocol, or the server drains. The view is valid
    /// until the next call that reads. Throws timed_out when `until` passes first, and
    /// operation_cancelled: nothing is lost, the next call goes on; std::bad_alloc.
    ///
    /// A message above websocket_options::message_bytes_max closes with 1009, one for which
    /// server_options::content_memory_bytes_max has no room with 1013, one that comes too slowly
    /// with 1008, text that is not UTF-8 with 1007 as soon as that is certain, and what breaks the
    /// protocol with 1002.
    task<std::optional<websocket_message>> read(io::deadline until = {});
    /// Does what read() does, but returns what there is of the next message, as soon as there is
    /// some: websocket_message says whether it is the last piece, which may be empty. A piece of
    /// text may end within a character. A read() after it returns what is left of the message.
    task<std::optional<websocket_message>> read_piece(io::deadline until = {});

    // -- writing

    /// Sends a message as io::stream::write() does: it ends as soon as it is queued, and waits
    /// while more than the high-water mark is, or others send. Throws timed_out when `until` passes
    /// first, with nothing sent. But one above 64 KiB that is not compressed is sent in pieces: a
    /// wait between them that ends so, or is cancelled, cuts it, so the client is reset, and the
    /// conversation is over (1006). Throws std::system_error (EPIPE) once the WebSocket is closing,
    /// and what the stream throws.
    ///
    /// One that is not the `last` is a piece of a message: what send() is given next continues it,
    /// so an echo by read_piece() sends pieces as they come. Other messages wait for its last
    /// piece; so one routine at a time calls this between pieces, and others send_text() and
    /// send_binary(). Pieces are not compressed. Throws std::invalid_argument, with nothing sent,
    /// for text that is not UTF-8, across pieces, and for a piece of another kind than its message.
    task<void> send(websocket_message message, io::deadline until = {});
    /// Does the same. `text` is UTF-8, or std::invalid_argument is thrown. What is sent outlives
    /// the task.
    task<void> send_text(std::string_view text, io::deadline until = {});
    task<void> send_binary(std::string_view data, io::deadline until = {});
    /// Sends a ping; `data` is at most 125 bytes, or std::invalid_argument is thrown. Whatever the
    /// client sends shows that it is there.
    task<void> ping(std::string_view data = {});
    /// Begins the closing handshake: nothing can be sent after it, and read() ends once the client
    /// has answered, or has not within websocket_options::close_within. The first call counts.
    /// Throws std::invalid_argument for a code that must not be sent (allowed are 1000-1003,
    /// 1007-1014, 3000-4999; 0 means no code, and then there is no reason), or a reason that is not
    /// UTF-8 or has more than 123 bytes.
    task<void> close(std::uint16_t code = 1000, std::string_view reason = {});

    /// Runs `body`, which reads, and beside it sends what others put into `from`: messages made by
    /// text_frame() and binary_frame(), each encoded once for all clients. As io::outbox::serve(),
    /// cuts off a client that does not read, and throws std::system_error (ECONNABORTED). Once the
    /// WebSocket is closing, messages are dropped.
    task<void> serve(io::outbox& from, task<void> body);
    /// Returns a message for any number of outboxes: shared, not compressed. `text` is UTF-8, or
    /// std::invalid_argument is thrown. Any thread. Throws std::bad_alloc.
    [[nodiscard]] static io::shared_bytes text_frame(std::string_view text);
    [[nodiscard]] static io::shared_bytes binary_frame(std::string_view data);

    // -- how it stands

    /// Returns what was chosen of those that the client speaks; empty if none.
    [[nodiscard]] std::string_view subprotocol() const noexcept;
    /// Returns whether a close frame was sent or has come, or the client has gone.
    [[nodiscard]] bool is_closing() const noexcept;
    /// Returns how it has ended: the code of the client's close frame, or of the server's if that
    /// was the first; 1005 if the frame had none, 1006 if the client went without one. 0 while it
    /// goes on.
    [[nodiscard]] std::uint16_t close_code() const noexcept;
    /// Returns the reason that came with the code.
    [[nodiscard]] std::string_view close_reason() const noexcept;
    /// Returns about how many bytes of memory it holds beside its coroutines.
    [[nodiscard]] std::size_t memory() const noexcept;

private:
    ws::conversation* conversation_;
};

/// Serves one WebSocket. Called by many workers at once; kept as long as its clients are served, so
/// it may be a coroutine lambda that captures.
using websocket_handler = std::function<task<void>(websocket)>;

/// How messages are compressed (permessage-deflate, RFC 7692), if the client offers it.
struct websocket_deflate {
    /// How hard it tries, 1 to 9; see coding::encoder_options. 0: 6.
    int level = 0;
    /// The most that either side looks back, as a power of two, 8 to 15. A client that does not let
    /// the server choose keeps 15.
    int server_window_bits = 15;
    int client_window_bits = 15;
    /// Whether messages may refer to earlier ones: smaller, but memory is kept for it while the
    /// client is not idle: up to 262 KiB for what is sent, 42 KiB for what comes.
    bool server_keeps_context = true;
    bool client_keeps_context = true;
    /// Shorter messages are sent as they are.
    std::size_t bytes_min = 64;
    /// Messages of this many bytes are compressed in blocking(), shorter ones on the worker.
    std::size_t blocking_bytes = 32'768;
};

struct websocket_options {
    using milliseconds = std::chrono::milliseconds;

    /// The most bytes of one message, decompressed. More is 1009.
    std::size_t message_bytes_max = 16'777'216;
    /// A message that has begun, and is read whole, may not be slower than this after its grace,
    /// like the content of a request: else 1008. 0: no minimum.
    std::uint64_t message_rate_min_bytes_per_s = 240;
    milliseconds message_grace{10'000};
    /// In the order of the server's preference: the first that the client speaks is chosen. A
    /// client that speaks none of them is served without.
    std::vector<std::string> subprotocols{};
    /// Origins of pages that may connect beside those of the server's own host:
    /// "https://app.example.org"; "*" is any. Others are refused (403); what sends no Origin is not
    /// a browser, and is let in.
    std::vector<std::string> allowed_origins{};
    /// Nothing: messages are not compressed. Nor are they in a build without zlib.
    std::optional<websocket_deflate> deflate = websocket_deflate{};
    /// A client that has sent nothing for this long gets a ping; 0: never.
    milliseconds ping_after{30'000};
    /// A client that sends nothing for this long after that is gone.
    milliseconds gone_after{30'000};
    /// How long the client may take to answer a close frame.
    milliseconds close_within{5'000};
    /// A client that has sent nothing for this long is idle: buffers and contexts are given up.
    milliseconds rest_after{1'000};
};

/// Returns a handler for router::get() that makes WebSockets of requests: a request for none gets
/// 426, an invalid handshake 400 or 426 (RFC 6455 sections 4.2 and 4.4), a page of another origin
/// 403. Over HTTP/2, which has no 426, it is a 400, and a 501 for an extended CONNECT that asks for
/// another protocol. Throws std::invalid_argument for options out of range, subprotocols that are
/// not tokens, and origins that are not (is_origin()).
[[nodiscard]] handler serve_websockets(websocket_handler serve, websocket_options options = {});

/// Does the same for one request, within a handler: for what depends on the request, which is gone
/// when `serve` is called.
///
///     routes.get("/chat/{room}", [](const request& r) {
///         return http::upgrade_websocket(r, [room = r.param<std::string>("room")](
///             http::websocket ws) -> task<void> { ... });
///     });
[[nodiscard]] response upgrade_websocket(const request& asked, websocket_handler serve,
                                         websocket_options options = {});
/// Does the same with options that many requests share: checked once, and not copied.
class websocket_endpoint {
public:
    /// Throws std::invalid_argument.
    explicit websocket_endpoint(websocket_options options = {});
    /// Returns the answer to `asked`: an upgrade, or why there is none.
    [[nodiscard]] response upgrade(const request& asked, websocket_handler serve) const;

private:
    std::shared_ptr<const websocket_options> options_;
};

/// What a handshake has agreed on.
struct websocket_terms {
    std::string subprotocol{}; ///< empty: none
    bool deflate = false;
    int server_window_bits = 15;
    int client_window_bits = 15;
    bool server_keeps_context = true;
    bool client_keeps_context = true;
};

/// Speaks WebSocket over a stream on which the handshake is done, whatever carries it: this is what
/// another wire than HTTP/1.1 calls (RFC 8441). It ends once the conversation has, and leaves the
/// end of the stream to its owner: after an orderly end the peer has been told all; if it throws,
/// the stream is to be aborted. Throws what `serve` throws, and operation_cancelled. All but
/// `terms` and `draining` outlive it. `draining` makes it say goodbye (1001).
[[nodiscard]] task<void> serve_websocket(io::stream* over, websocket_terms terms,
                                         std::stop_token draining, const websocket_options* options,
                                         const websocket_handler* serve);

} // namespace rota::http
