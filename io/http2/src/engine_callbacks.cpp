// What nghttp2 calls.

#include "engine.hpp"

#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include "wire_fields.hpp"

namespace rota::http::h2 {
namespace {

constexpr std::size_t frame_head_size = 9;

std::string_view text_of(const std::uint8_t* bytes, std::size_t size) noexcept {
    return {reinterpret_cast<const char*>(bytes), size};
}

/// Whether a stream that ends so has been given up for what the client did. One that is refused was
/// counted when it began: until it is told so it takes memory.
bool is_clients_fault(std::uint32_t code) noexcept {
    switch (static_cast<error_code>(code)) {
    case error_code::protocol_error:
    case error_code::flow_control_error:
    case error_code::stream_closed:
    case error_code::frame_size_error:
    case error_code::compression_error:
    case error_code::enhance_your_calm:
        return true;
    default:
        return false;
    }
}

} // namespace

/// Nothing may be thrown through nghttp2: want of memory is noted, and thrown behind it.
struct engine::callbacks {
    static engine& of(void* user) noexcept { return *static_cast<engine*>(user); }

    template <class Body>
    static int guarded(engine& self, Body body) noexcept {
        try {
            return body();
        } catch (...) { // std::bad_alloc: the events throw nothing else
            self.out_of_memory_ = true;
            return NGHTTP2_ERR_CALLBACK_FAILURE;
        }
    }

    static int on_begin_headers(nghttp2_session* session, const nghttp2_frame* frame,
                                void* user) noexcept {
        engine& self = of(user);
        self.unpacked_ = 0;
        self.wishes_ = false;
        if (frame->headers.cat != NGHTTP2_HCAT_REQUEST)
            return 0;
        return guarded(self, [&] {
            if (++self.streams_ > self.streams_max_) {
                self.reset(frame->hd.stream_id, error_code::refused_stream);
                if (self.events_.on_provoked_reset())
                    return 0;
                self.found_ = fault{error_code::enhance_your_calm, "too many streams at once"};
                return static_cast<int>(NGHTTP2_ERR_CALLBACK_FAILURE);
            }
            // The client will be told that it is not served; then nghttp2 closes it.
            if (frame->hd.stream_id > self.last_id_)
                return 0;
            engine_stream* const made = self.events_.on_begin(frame->hd.stream_id);
            nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, made);
            return 0;
        });
    }

    static int on_header(nghttp2_session* /*session*/, const nghttp2_frame* frame,
                         const std::uint8_t* name, std::size_t name_size, const std::uint8_t* value,
                         std::size_t value_size, std::uint8_t /*flags*/, void* user) noexcept {
        engine& self = of(user);
        const bool trailer = frame->headers.cat != NGHTTP2_HCAT_REQUEST;
        if (!self.unpack(name_size + value_size, trailer)) {
            self.found_ = fault{error_code::enhance_your_calm, "a header section that explodes"};
            return NGHTTP2_ERR_CALLBACK_FAILURE;
        }
        engine_stream* const stream = self.find(frame->hd.stream_id);
        if (stream == nullptr)
            return 0;
        if (!trailer && text_of(name, name_size) == "priority")
            self.wish(text_of(value, value_size));
        return guarded(self, [&] {
            self.events_.on_field(stream, text_of(name, name_size), text_of(value, value_size),
                                  trailer);
            return 0;
        });
    }

    /// What is no field makes the request malformed; it is not left out.
    static int on_invalid_header(nghttp2_session* /*session*/, const nghttp2_frame* /*frame*/,
                                 const std::uint8_t* /*name*/, std::size_t /*name_size*/,
                                 const std::uint8_t* /*value*/, std::size_t /*value_size*/,
                                 std::uint8_t /*flags*/, void* /*user*/) noexcept {
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }

    static int on_frame(nghttp2_session* /*session*/, const nghttp2_frame* frame,
                        void* user) noexcept {
        engine& self = of(user);
        if (frame->hd.type == NGHTTP2_GOAWAY)
            self.client_leaves_ = true;
        if (frame->hd.type == NGHTTP2_SETTINGS && self.streams_ > 0)
            self.settings_came_ = true;
        engine_stream* const stream = self.find(frame->hd.stream_id);
        if (stream == nullptr)
            return 0;
        return guarded(self, [&] {
            const bool last = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
            if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
                self.prioritize_begun(frame->hd.stream_id);
                self.events_.on_request(stream, !last);
            } else if (last && frame->hd.type == NGHTTP2_HEADERS) {
                self.events_.on_trailers(stream);
            } else if (last && frame->hd.type == NGHTTP2_DATA) {
                self.events_.on_content_end(stream);
            }
            return 0;
        });
    }

    /// Of a frame for which nghttp2 resets its stream. It refuses streams by itself, without end,
    /// where the client has not acknowledged the settings and so many have been refused before.
    static int on_invalid_frame(nghttp2_session* /*session*/, const nghttp2_frame* frame, int error,
                                void* user) noexcept {
        engine& self = of(user);
        if (error == NGHTTP2_ERR_REFUSED_STREAM) {
            self.found_ = fault{error_code::enhance_your_calm, "too many streams at once"};
            return NGHTTP2_ERR_CALLBACK_FAILURE;
        }
        // Behind SETTINGS it may be these for which the stream is reset.
        if (frame->hd.type != NGHTTP2_WINDOW_UPDATE || self.settings_came_)
            return 0;
        return guarded(self, [&] {
            self.windows_too_large_.push_back(frame->hd.stream_id);
            return 0;
        });
    }

    static int on_data(nghttp2_session* /*session*/, std::uint8_t /*flags*/, std::int32_t id,
                       const std::uint8_t* bytes, std::size_t size, void* user) noexcept {
        engine& self = of(user);
        engine_stream* const stream = self.find(id);
        return guarded(self, [&] {
            self.kept_ += size;
            if (stream != nullptr)
                self.events_.on_content(stream, text_of(bytes, size));
            else
                self.consumed(size); // nobody else does
            return 0;
        });
    }

    static int on_close(nghttp2_session* session, std::int32_t id, std::uint32_t /*code*/,
                        void* user) noexcept {
        engine& self = of(user);
        --self.streams_;
        engine_stream* const stream = self.find(id);
        if (stream == nullptr)
            return 0;
        nghttp2_session_set_stream_user_data(session, id, nullptr);
        return guarded(self, [&] {
            self.events_.on_closed(stream);
            return 0;
        });
    }

    static int on_sent(nghttp2_session* /*session*/, const nghttp2_frame* frame,
                       void* user) noexcept {
        engine& self = of(user);
        if (frame->hd.type == NGHTTP2_RST_STREAM) {
            if (is_clients_fault(frame->rst_stream.error_code))
                static_cast<void>(self.events_.on_provoked_reset());
            // A window that SETTINGS have made too large, and content beyond a window (RFC 9113
            // sections 6.9.2 and 6.9.1): nghttp2 is content to reset the stream.
            const bool excused = std::erase(self.windows_too_large_, frame->hd.stream_id) > 0 ||
                                 frame->rst_stream.error_code != NGHTTP2_FLOW_CONTROL_ERROR;
            if (excused)
                return 0;
            return guarded(self, [&] {
                self.end(error_code::flow_control_error);
                return 0;
            });
        }
        if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
            return 0;
        engine_stream* const stream = self.find(frame->hd.stream_id);
        if (stream == nullptr)
            return 0;
        const bool last = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
        const bool cut =
            frame->hd.type == NGHTTP2_DATA && !last && self.is_held_back(frame->hd.stream_id);
        self.events_.on_sent(stream, frame->hd.length + frame_head_size, last, cut);
        return 0;
    }

    /// Of a stream whose fields do not leave the rest has nothing to follow.
    static int on_not_sent(nghttp2_session* /*session*/, const nghttp2_frame* frame, int /*error*/,
                           void* user) noexcept {
        engine& self = of(user);
        if (frame->hd.type != NGHTTP2_HEADERS || self.find(frame->hd.stream_id) == nullptr)
            return 0;
        return guarded(self, [&] {
            self.reset(frame->hd.stream_id, error_code::internal_error);
            return 0;
        });
    }

    /// A frame of content: its head, then bytes of the stream's.
    static int send_data(nghttp2_session* /*session*/, nghttp2_frame* frame,
                         const std::uint8_t* head, std::size_t size,
                         nghttp2_data_source* /*source*/, void* user) noexcept {
        engine& self = of(user);
        engine_stream* const stream = self.find(frame->hd.stream_id);
        if (stream == nullptr)
            return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
        return guarded(self, [&] {
            self.add_content(text_of(head, frame_head_size), stream->take(size));
            return self.out_->size() < self.out_max_ ? 0 : static_cast<int>(NGHTTP2_ERR_PAUSE);
        });
    }

    static ssize_t read_content(nghttp2_session* session, std::int32_t id, std::size_t bytes_max,
                                std::uint32_t* flags, engine& self) noexcept {
        engine_stream* const stream = self.find(id);
        if (stream == nullptr)
            return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
        const engine_stream::content there = stream->ready(bytes_max);
        if (there.bytes == 0 && !there.last)
            return NGHTTP2_ERR_DEFERRED;
        *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
        if (there.bytes > bytes_max)
            return static_cast<ssize_t>(bytes_max);
        if (!there.last)
            return static_cast<ssize_t>(there.bytes);
        *flags |= NGHTTP2_DATA_FLAG_EOF;
        if (there.trailers == nullptr)
            return static_cast<ssize_t>(there.bytes);
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        const int failed = guarded(self, [&] {
            wire_fields fields(self.fields_);
            fields.add_lines(there.trailers->wire());
            self.check(
                nghttp2_submit_trailer(session, id, self.fields_.data(), self.fields_.size()));
            return 0;
        });
        return failed != 0 ? ssize_t{NGHTTP2_ERR_CALLBACK_FAILURE}
                           : static_cast<ssize_t>(there.bytes);
    }

    struct end {
        void operator()(nghttp2_session_callbacks* of) const noexcept {
            nghttp2_session_callbacks_del(of);
        }
    };
    using owned = std::unique_ptr<nghttp2_session_callbacks, end>;

    static owned make() {
        nghttp2_session_callbacks* made = nullptr;
        if (nghttp2_session_callbacks_new(&made) != 0)
            throw std::bad_alloc();
        owned all(made);
        nghttp2_session_callbacks_set_on_begin_headers_callback(made, &on_begin_headers);
        nghttp2_session_callbacks_set_on_header_callback(made, &on_header);
        nghttp2_session_callbacks_set_on_invalid_header_callback(made, &on_invalid_header);
        nghttp2_session_callbacks_set_on_frame_recv_callback(made, &on_frame);
        nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(made, &on_invalid_frame);
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made, &on_data);
        nghttp2_session_callbacks_set_on_stream_close_callback(made, &on_close);
        nghttp2_session_callbacks_set_on_frame_send_callback(made, &on_sent);
        nghttp2_session_callbacks_set_on_frame_not_send_callback(made, &on_not_sent);
        nghttp2_session_callbacks_set_send_data_callback(made, &send_data);
        return all;
    }
    static const nghttp2_session_callbacks* all() {
        static const owned made = make();
        return made.get();
    }
};

const nghttp2_session_callbacks* engine::callbacks_of_all() { return callbacks::all(); }

ssize_t engine::read_content(nghttp2_session* session, std::int32_t id, std::uint8_t* /*into*/,
                             std::size_t bytes_max, std::uint32_t* flags,
                             nghttp2_data_source* /*source*/, void* user) noexcept {
    return callbacks::read_content(session, id, bytes_max, flags, callbacks::of(user));
}

} // namespace rota::http::h2
