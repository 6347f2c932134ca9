#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nghttp2/nghttp2.h>

#include <rota/http/headers.hpp>
#include <rota/http/limits.hpp>
#include <rota/http/response.hpp>
#include <rota/io/shared_bytes.hpp>

#include "frame_watch.hpp"
#include "priority.hpp"
#include "session_memory.hpp"

namespace rota::http::h2 {

/// What the engine has of a stream: where its answer's content comes from. Nothing here waits, runs
/// a handler, or throws.
class engine_stream {
public:
    struct content {
        std::size_t bytes = 0;             // to be sent
        bool last = false;                 // nothing follows them but trailers
        const headers* trailers = nullptr; // or null
    };
    /// What there is, of which no more than so much leaves; zero bytes that are not the last mean
    /// that there will be more: resume().
    [[nodiscard]] virtual content ready(std::size_t bytes_max) noexcept = 0;
    struct slice {
        std::string_view bytes;                  // valid until the next call
        const io::shared_bytes* whole = nullptr; // whose part they are, or null
    };
    /// The first `bytes` of them, which leave now.
    [[nodiscard]] virtual slice take(std::size_t bytes) noexcept = 0;

protected:
    ~engine_stream() = default;
};

/// What happens to streams. Called from within engine::read() and engine::write(), which must not
/// be called from here; everything else may. What it takes to answer is noted, and done later.
class engine_events {
public:
    /// A request begins. The stream that it gets, until closed().
    [[nodiscard]] virtual engine_stream* on_begin(std::int32_t id) = 0;
    /// A field of its header section, or, behind content, of its trailers.
    virtual void on_field(engine_stream* of, std::string_view name, std::string_view value,
                          bool trailer) = 0;
    /// The header section is complete, and right; `more` content may follow.
    virtual void on_request(engine_stream* of, bool more) = 0;
    virtual void on_content(engine_stream* of, std::string_view piece) = 0;
    /// Nothing follows from the client.
    virtual void on_content_end(engine_stream* of) = 0;
    /// The same, by a header section behind the content.
    virtual void on_trailers(engine_stream* of) = 0;
    /// So many bytes of it have been written, frames and all; `last`: and that was the end.
    virtual void on_sent(engine_stream* of, std::size_t bytes, bool last, bool cut) noexcept = 0;
    /// It is over: by both ends, or by one that gave it up. The engine knows it no more.
    virtual void on_closed(engine_stream* of) = 0;
    /// Sends `before`, which is empty then, and content behind it, from where that is. False, with
    /// nothing sent, if that cannot be done. Throws std::bad_alloc.
    [[nodiscard]] virtual bool send_shared(std::string& before,
                                           const io::shared_bytes& content) = 0;
    /// A stream is given up for something that the client did. False: too many of them are.
    virtual bool on_provoked_reset() noexcept = 0;

protected:
    ~engine_events() = default;
};

/// The server's side of a connection of HTTP/2 by nghttp2, in memory: bytes in, events and bytes
/// out. The only user of nghttp2. One client's; used by the holder of its worker's baton.
class engine final : public stream_states {
public:
    /// Both outlive it. The settings of the server are the first that it writes.
    engine(engine_events& events, const server_limits& limits);
    engine(const engine&) = delete;
    engine& operator=(const engine&) = delete;

    /// Takes bytes of the client's. What is wrong with them, if the connection has to end for it
    /// and the client has not been told yet. Throws std::bad_alloc.
    [[nodiscard]] std::optional<fault> read(std::string_view bytes);
    /// A PRIORITY_UPDATE says this of a stream. Throws std::bad_alloc.
    void update_priority(std::int32_t id, std::string_view value);
    /// Appends what is to be sent now to `out`, up to about `bytes_max` in it, but for what goes by
    /// engine_events::send_shared(). Throws std::bad_alloc.
    void write(std::string& out, std::size_t bytes_max);

    /// The head of an answer, whose content is the stream's if it has any to send.
    void answer(std::int32_t id, const response& with, bool content);
    /// "100 Continue".
    void invite(std::int32_t id);
    /// There is content again.
    void resume(std::int32_t id) noexcept;
    void reset(std::int32_t id, error_code why);
    /// Its stream is asked for nothing any more, and may go before it is closed: what it has not
    /// sent is given up.
    void forget(std::int32_t id) noexcept;
    /// So much content of a stream has been taken by what reads it; the client may send more.
    void consumed(std::int32_t id, std::size_t bytes);
    /// The same of a stream that is over.
    void consumed(std::size_t bytes);
    /// The content of a stream is read: more of it than of others may come ahead.
    void widen(std::int32_t id);
    /// Whether the client may hardly send content of any stream, because of what has come of some
    /// and is not read.
    [[nodiscard]] bool keeps_back() const noexcept;

    /// Tells the client that the connection is about to end (RFC 9113 section 6.8): it should open
    /// no more streams.
    void announce_end();
    /// Ends it behind the streams that have begun: no other does, though the client may not have
    /// been told yet.
    void end_behind_streams();
    /// Ends it now, for this.
    void end(error_code why);
    /// The client has said that it opens no more streams.
    [[nodiscard]] bool client_leaves() const noexcept { return client_leaves_; }
    /// Whether it is over as soon as everything has been written.
    [[nodiscard]] bool over() const noexcept;
    [[nodiscard]] bool is_open(std::uint32_t id) const noexcept override {
        return find(static_cast<std::int32_t>(id)) != nullptr;
    }
    [[nodiscard]] bool may_begin(std::uint32_t id) const noexcept override {
        return id <= static_cast<std::uint32_t>(last_id_);
    }
    [[nodiscard]] std::size_t open_streams() const noexcept override { return streams_; }
    /// Whether the client's windows have room for so much content of a stream.
    [[nodiscard]] bool has_room(std::int32_t id, std::size_t bytes) const noexcept;
    /// Whether the client's windows keep anything of a stream back.
    [[nodiscard]] bool is_held_back(std::int32_t id) const noexcept;
    [[nodiscard]] bool is_connection_held_back() const noexcept;

private:
    static constexpr auto stream_id_max = std::numeric_limits<std::int32_t>::max();
    struct callbacks; // what nghttp2 calls, with the engine as user data
    [[nodiscard]] static const nghttp2_session_callbacks* callbacks_of_all();
    static ssize_t read_content(nghttp2_session* session, std::int32_t id, std::uint8_t* into,
                                std::size_t bytes_max, std::uint32_t* flags,
                                nghttp2_data_source* source, void* user) noexcept;
    struct session_end {
        void operator()(nghttp2_session* of) const noexcept { nghttp2_session_del(of); }
    };
    void submit_settings(const server_limits& limits);
    void announce_taken();
    void add_content(std::string_view head, const engine_stream::slice& piece);
    void put_limit(char* settings) const noexcept;
    void check(int result);
    [[nodiscard]] engine_stream* find(std::int32_t id) const noexcept;
    [[nodiscard]] bool unpack(std::size_t bytes, bool trailers) noexcept;
    void wish(std::string_view priority) noexcept;
    void prioritize(std::int32_t id, stream_priority as);
    void prioritize_begun(std::int32_t id);

    engine_events& events_;
    session_memory memory_; // of session_
    std::unique_ptr<nghttp2_session, session_end> session_;
    std::vector<nghttp2_nv> fields_; // of what is submitted next
    std::string* out_ = nullptr;     // within write()
    std::size_t out_max_ = 0;
    const std::uint32_t streams_max_;
    const std::size_t head_bytes_max_;
    const std::size_t trailer_bytes_max_;
    const std::uint32_t stream_window_;
    const std::uint32_t connection_window_;
    // The header section that comes: what it has unpacked to, and what it has said of its priority.
    std::size_t unpacked_ = 0;
    std::optional<stream_priority> wished_;
    bool wishes_ = false; // be it right or not
    // What PRIORITY_UPDATE has said of streams before they began: of no more than may be open.
    std::vector<std::pair<std::int32_t, stream_priority>> wished_early_;
    std::size_t kept_ = 0;                 // content that has come and has not been taken
    std::uint32_t streams_ = 0;            // as its client counts them
    std::int32_t last_id_ = stream_id_max; // behind which it ends
    std::optional<fault> found_;
    // Streams whose windows a WINDOW_UPDATE has made too large, until that is said.
    std::vector<std::int32_t> windows_too_large_;
    bool settings_came_ = false; // for streams, and not all is said that they may have led to
    bool greeted_ = false;       // the settings are written
    bool client_leaves_ = false;
    bool out_of_memory_ = false;
    bool made_content_ = false;
};

} // namespace rota::http::h2
