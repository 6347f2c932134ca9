#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <rota/http/body.hpp>
#include <rota/http/headers.hpp>
#include <rota/http/literal.hpp>
#include <rota/http/takeover.hpp>
#include <rota/io/shared_bytes.hpp>
#include <rota/io/shared_file.hpp>

namespace rota::http {

struct cookie;

/// Content that any number of answers share, made once. If large, it goes to the socket from where
/// it is, in clear; it is held until the last answer with it has left.
using shared_body = io::shared_bytes;

/// Has a connection to itself, once a handler has taken it over: see response::upgrade(). May be a
/// coroutine lambda with captures: it is kept until it has ended, and so is the request, unless
/// that is forgotten (response::forget_request()).
using connection_taker = std::move_only_function<task<void>(takeover&)>;

/// What a handler answers. A value that moves; used by one thread at a time.
///
/// The server adds Date, Content-Length or Transfer-Encoding, and Connection. Its content is sent
/// neither for HEAD nor with a status that has none (204, 205, 304).
class response {
public:
    /// Makes an empty answer. Throws std::invalid_argument for a status outside 200..599.
    explicit response(int status = 200);

    /// Makes an answer with content that it owns. Without a content type, here and below, there is
    /// no field.
    static response text(std::string body);
    static response html(std::string body);
    static response json(std::string body);
    static response with_body(std::string body, std::string_view content_type);
    /// Makes an answer with content in static storage, which is not copied.
    static response fixed(literal body, literal content_type = "text/plain; charset=utf-8");
    /// Makes an answer with content that others share, which is not copied. Throws std::bad_alloc,
    /// and std::invalid_argument as headers::add() does.
    static response shared(shared_body body, std::string_view content_type);
    /// Makes an answer whose content is written as it is produced: chunked, or until the connection
    /// closes for an HTTP/1.0 client. If the producer throws, the connection is cut without the end
    /// of the content, so the client can tell.
    static response stream(body_producer producer,
                           std::string_view content_type = "application/octet-stream");
    /// Does the same with a known length; writing less or more cuts the connection.
    static response stream(std::uint64_t length, body_producer producer,
                           std::string_view content_type = "application/octet-stream");
    /// Makes an answer with bytes of a file, which in clear HTTP/1.1 do not pass through this
    /// process. If the file no longer has `content.facts` before all has left, the connection is
    /// cut. It should be in memory (io::bring_in()), or its first bytes may wait for a disk.
    static response file(io::file_slice content, std::string_view content_type);
    /// Goes on in another protocol: "101 Switching Protocols" with Upgrade and Connection, and the
    /// fields of this response; after it the connection is `taker`'s until that ends. A client that
    /// has not asked for it (request::offers_upgrade()) gets a 426 instead, over HTTP/2 a 400, or a
    /// 501 if it has asked for another one. `protocol` is the value of Upgrade: "websocket". If its
    /// status has been changed, by middleware that refuses it, it is a 500, without a change of
    /// protocol. Throws std::invalid_argument for what must not stand there.
    static response upgrade(std::string_view protocol, connection_taker taker);
    /// Answers CONNECT (router::connect()): "200 OK" and the fields of this response, then the
    /// connection is `taker`'s until that ends. As with upgrade(), its status must stay.
    static response tunnel(connection_taker taker);
    /// Redirects to `location`, in which what may not stand in a reference, such as a space or a
    /// '%' that begins no escape, is percent-encoded. Throws std::invalid_argument for a status
    /// outside 300..399, and as headers::add() does.
    static response redirect(std::string_view location, int status = 302);

    [[nodiscard]] int status() const noexcept { return status_; }
    response& status(int code) &;
    response&& status(int code) && { return std::move(status(code)); }

    [[nodiscard]] const http::headers& headers() const noexcept { return headers_; }
    [[nodiscard]] http::headers& headers() noexcept { return headers_; }
    /// Replaces the field; see headers::set().
    response& header(std::string_view name, std::string_view value) &;
    response&& header(std::string_view name, std::string_view value) && {
        return std::move(header(name, value));
    }

    /// Adds a Set-Cookie; needs <rota/http/cookie.hpp>. Throws std::invalid_argument, with a
    /// sentence, for what must not be in one or what browsers refuse: see cookie::to_string().
    response& set_cookie(const cookie& one) &;
    response&& set_cookie(const cookie& one) && { return std::move(set_cookie(one)); }

    /// Names the representation that a 206, 304, 412 or 416 refers to. From it middleware knows
    /// which fields the whole of it would come with (RFC 9110 sections 15.3.7, 15.4.5), and whether
    /// the client takes it at all (sections 13.2.1, 14.2).
    struct representation {
        std::string content_type; ///< empty if its coding has been chosen
        std::uint64_t length = 0;
        bool is_file = false;
    };
    /// Throws std::bad_alloc.
    response& stands_for(representation whole) &;
    /// Returns null if that has not been set. Valid as long as the response.
    [[nodiscard]] const representation* stands_for() const noexcept;

    /// Says that the taker of an upgrade() or tunnel() uses neither the request nor anything of it,
    /// which are gone when it begins. So a connection that may stay for hours takes less memory.
    response& forget_request() & noexcept;
    response&& forget_request() && noexcept { return std::move(forget_request()); }
    [[nodiscard]] bool forgets_request() const noexcept { return rare_ && rare_->forgets_request; }

    /// Closes the connection after this answer.
    response& close() & noexcept;
    response&& close() && noexcept { return std::move(close()); }
    [[nodiscard]] bool closes() const noexcept { return close_; }

    /// Returns the content unless it is streamed.
    [[nodiscard]] std::string_view body() const noexcept {
        return kind_ == kind::owned ? std::string_view(owned_) : fixed_;
    }
    [[nodiscard]] bool streamed() const noexcept { return kind_ == kind::streamed; }
    /// Returns whether all of it is there: it neither streams nor takes over.
    [[nodiscard]] bool is_whole() const noexcept { return kind_ < kind::streamed; }
    /// Returns whether the content is a file's: body() is empty then.
    [[nodiscard]] bool is_file() const noexcept { return kind_ == kind::file; }
    /// Returns whether it gives the connection away.
    [[nodiscard]] bool takes_over() const noexcept {
        return kind_ == kind::upgrade || kind_ == kind::tunnel;
    }
    [[nodiscard]] bool is_tunnel() const noexcept { return kind_ == kind::tunnel; }
    /// Returns the length of the content, if that is known beforehand.
    [[nodiscard]] std::optional<std::uint64_t> length() const noexcept;

    // What the session does with it.

    /// Takes the owned content out, to send it without a copy; empty if the content is not owned.
    [[nodiscard]] std::string take_owned_body() noexcept;
    [[nodiscard]] body_producer& producer() noexcept { return producer_; }
    /// Makes the content that it owns shared, without a copy. Throws std::bad_alloc, and nothing
    /// has changed.
    void share_owned();
    /// Returns the content unless it is streamed or a file's: a copy if the response owns it.
    /// Throws std::bad_alloc.
    [[nodiscard]] shared_body shared_content() const;
    /// Returns whether the content is in static storage.
    [[nodiscard]] bool is_fixed() const noexcept { return kind_ == kind::fixed; }
    /// Returns the file content, of a response that has one.
    [[nodiscard]] const io::file_slice& file_content() const noexcept { return rare_->content; }
    /// Makes it a streamed one with the same content.
    void stream_file();
    /// Returns the taker, of a response that takes the connection over.
    [[nodiscard]] connection_taker& taker() noexcept { return rare_->taker; }

private:
    enum class kind : std::uint8_t { fixed, owned, shared, streamed, file, upgrade, tunnel };

    /// What few responses have, so it is elsewhere.
    struct rare {
        connection_taker taker;
        bool forgets_request = false;
        io::file_slice content;
        shared_body bytes;
        std::optional<representation> whole;
    };

    http::headers headers_;
    std::string owned_;
    std::string_view fixed_;
    body_producer producer_;
    std::unique_ptr<rare> rare_;
    std::uint64_t length_ = 0;
    std::int16_t status_ = 200;
    kind kind_ = kind::fixed;
    bool length_known_ = false;
    bool close_ = false;
};

} // namespace rota::http
