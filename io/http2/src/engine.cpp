#include "engine.hpp"

#include <array>
#include <new>
#include <utility>

#include "answer_fields.hpp"

namespace rota::http::h2 {
namespace {

constexpr std::size_t default_window = 65'535;

struct option_end {
    void operator()(nghttp2_option* of) const noexcept { nghttp2_option_del(of); }
};

/// What is counted here need not be counted there.
std::unique_ptr<nghttp2_option, option_end> make_options() {
    nghttp2_option* made = nullptr;
    if (nghttp2_option_new(&made) != 0)
        throw std::bad_alloc();
    std::unique_ptr<nghttp2_option, option_end> options(made);
    nghttp2_option_set_no_auto_window_update(made, 1);
    nghttp2_option_set_no_closed_streams(made, 1);
    nghttp2_option_set_builtin_recv_extension_type(made, NGHTTP2_PRIORITY_UPDATE);
#ifdef ROTA_NGHTTP2_RESET_RATE
    nghttp2_option_set_stream_reset_rate_limit(made, 1'000'000, 1'000'000);
#endif
#ifdef ROTA_NGHTTP2_CONTINUATIONS
    nghttp2_option_set_max_continuations(made, 1'000);
#endif
    return options;
}

} // namespace

engine::engine(engine_events& events, const server_limits& limits) : events_(events) {
    const auto options = make_options();
    nghttp2_session* made = nullptr;
    check(nghttp2_session_server_new2(&made, callbacks_of_all(), this, options.get()));
    session_.reset(made);
    submit_settings(limits);
}

void engine::submit_settings(const server_limits& limits) {
    const std::array settings{
        nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits.http2.streams_max},
        nghttp2_settings_entry{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE,
                               limits.http2.stream_window_bytes},
        nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,
                               static_cast<std::uint32_t>(limits.parser.head_bytes_max)},
        nghttp2_settings_entry{NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL, 1},
        nghttp2_settings_entry{NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
    };
    check(nghttp2_submit_settings(session_.get(), NGHTTP2_FLAG_NONE, settings.data(),
                                  settings.size()));
    if (limits.http2.connection_window_bytes > default_window) {
        check(nghttp2_session_set_local_window_size(
            session_.get(), NGHTTP2_FLAG_NONE, 0,
            static_cast<std::int32_t>(limits.http2.connection_window_bytes)));
    }
}

/// Only for what cannot fail but for want of memory: the arguments are right, and a stream that is
/// gone meanwhile needs nothing.
void engine::check(int result) {
    if (result == NGHTTP2_ERR_NOMEM)
        throw std::bad_alloc();
}

// --- Bytes ---

std::optional<fault> engine::read(std::string_view bytes) {
    const ssize_t taken = nghttp2_session_mem_recv(
        session_.get(), reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    if (std::exchange(out_of_memory_, false) || taken == NGHTTP2_ERR_NOMEM)
        throw std::bad_alloc();
    if (found_)
        return std::exchange(found_, std::nullopt);
    if (taken >= 0)
        return std::nullopt;
    if (taken == NGHTTP2_ERR_BAD_CLIENT_MAGIC)
        return fault{error_code::protocol_error, "not the preface of HTTP/2"};
    // It counts what is to be answered, and, in later versions, CONTINUATION.
    return fault{error_code::enhance_your_calm, nghttp2_strerror(static_cast<int>(taken))};
}

void engine::write(std::string& out, std::size_t bytes_max) {
    out_ = &out;
    out_max_ = bytes_max;
    while (out.size() < bytes_max) {
        const std::uint8_t* piece = nullptr;
        const std::size_t before = out.size();
        const ssize_t size = nghttp2_session_mem_send(session_.get(), &piece);
        if (size == NGHTTP2_ERR_NOMEM || std::exchange(out_of_memory_, false)) {
            out_ = nullptr;
            throw std::bad_alloc();
        }
        if (size > 0)
            out.append(reinterpret_cast<const char*>(piece), static_cast<std::size_t>(size));
        if (out.size() == before)
            break;
    }
    out_ = nullptr;
}

// --- Answers ---

void engine::answer(std::int32_t id, const response& with, bool content) {
    answer_fields fields(fields_);
    fields.add_head(with);
    nghttp2_data_provider from{};
    from.read_callback = &engine::read_content;
    check(nghttp2_submit_response(session_.get(), id, fields_.data(), fields_.size(),
                                  content ? &from : nullptr));
}

void engine::invite(std::int32_t id) {
    answer_fields fields(fields_);
    fields.add_status(100);
    check(nghttp2_submit_headers(session_.get(), NGHTTP2_FLAG_NONE, id, nullptr, fields_.data(),
                                 fields_.size(), nullptr));
}

void engine::resume(std::int32_t id) noexcept { nghttp2_session_resume_data(session_.get(), id); }

void engine::reset(std::int32_t id, error_code why) {
    check(nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, id,
                                    static_cast<std::uint32_t>(why)));
}

void engine::consumed(std::int32_t id, std::size_t bytes) {
    check(nghttp2_session_consume(session_.get(), id, bytes));
}

void engine::consumed(std::size_t bytes) {
    check(nghttp2_session_consume_connection(session_.get(), bytes));
}

// --- The end ---

void engine::announce_end() { check(nghttp2_submit_shutdown_notice(session_.get())); }

void engine::end_behind_streams() {
    check(nghttp2_submit_goaway(session_.get(), NGHTTP2_FLAG_NONE,
                                nghttp2_session_get_last_proc_stream_id(session_.get()),
                                NGHTTP2_NO_ERROR, nullptr, 0));
}

void engine::end(error_code why) {
    check(nghttp2_session_terminate_session(session_.get(), static_cast<std::uint32_t>(why)));
}

bool engine::over() const noexcept {
    return nghttp2_session_want_read(session_.get()) == 0 &&
           nghttp2_session_want_write(session_.get()) == 0;
}

bool engine::is_connection_held_back() const noexcept {
    return nghttp2_session_get_remote_window_size(session_.get()) <= 0;
}

bool engine::is_held_back(std::int32_t id) const noexcept {
    return is_connection_held_back() ||
           nghttp2_session_get_stream_remote_window_size(session_.get(), id) <= 0;
}

// --- Streams ---

engine_stream* engine::find(std::int32_t id) const noexcept {
    return static_cast<engine_stream*>(nghttp2_session_get_stream_user_data(session_.get(), id));
}

} // namespace rota::http::h2
