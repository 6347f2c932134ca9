#include "engine.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "wire_fields.hpp"

namespace rota::http::h2 {
namespace {

constexpr std::uint32_t default_window = 65'535;
constexpr std::int32_t frame_bytes = 16'384; // of DATA, as clients make them
/// Of the fields of an answer, or of its trailers. HTTP/1.1 knows no limit; nghttp2 needs one.
constexpr std::size_t fields_bytes_max = 16'777'216;
/// As many as fit into a frame, which costs the same whatever is in it.
constexpr std::size_t settings_max = frame_bytes / 6;
/// A header section of so many times the size that was announced is no mistake.
constexpr std::size_t bomb_factor = 8;

/// nghttp2 ends the connection for a stream too many, where RFC 9113 section 5.1.2 has that stream
/// refused. So it is told of more, the engine counts, and the settings are written with its limit.
/// What is more is for those that are refused and have not been told.
std::uint32_t limit_of_nghttp2(std::uint32_t streams_max) noexcept {
    constexpr std::uint32_t more = 1'024;
    return std::min(streams_max, std::numeric_limits<std::uint32_t>::max() - more) + more;
}

struct option_end {
    void operator()(nghttp2_option* of) const noexcept { nghttp2_option_del(of); }
};

// What nghttp2 calls for memory, with the session's as its user data.

void* allocate(std::size_t bytes, void* user) noexcept {
    return static_cast<session_memory*>(user)->allocate(bytes);
}

void deallocate(void* memory, void* user) noexcept {
    static_cast<session_memory*>(user)->deallocate(memory);
}

void* allocate_zeros(std::size_t count, std::size_t each, void* user) noexcept {
    if (each != 0 && count > std::numeric_limits<std::size_t>::max() / each)
        return nullptr;
    void* const memory = allocate(count * each, user);
    return memory == nullptr ? nullptr : std::memset(memory, 0, count * each);
}

void* reallocate(void* memory, std::size_t bytes, void* user) noexcept {
    return static_cast<session_memory*>(user)->reallocate(memory, bytes);
}

nghttp2_mem pooled(session_memory& from) noexcept {
    return {&from, allocate, deallocate, allocate_zeros, reallocate};
}

/// What is counted here need not be counted there.
std::unique_ptr<nghttp2_option, option_end> make_options() {
    nghttp2_option* made = nullptr;
    if (nghttp2_option_new(&made) != 0)
        throw std::bad_alloc();
    std::unique_ptr<nghttp2_option, option_end> options(made);
    nghttp2_option_set_no_auto_window_update(made, 1);
    nghttp2_option_set_no_closed_streams(made, 1);
    nghttp2_option_set_max_send_header_block_length(made, fields_bytes_max);
    nghttp2_option_set_max_settings(made, settings_max);
#ifdef ROTA_NGHTTP2_RESET_RATE
    nghttp2_option_set_stream_reset_rate_limit(made, 1'000'000, 1'000'000);
#endif
#ifdef ROTA_NGHTTP2_CONTINUATIONS
    nghttp2_option_set_max_continuations(made, 1'000);
#endif
    return options;
}

} // namespace

engine::engine(engine_events& events, const server_limits& limits)
    : events_(events), streams_max_(limits.http2.streams_max),
      head_bytes_max_(limits.parser.head_bytes_max),
      trailer_bytes_max_(limits.parser.trailer_bytes_max),
      stream_window_(limits.http2.stream_window_bytes),
      connection_window_(std::max(limits.http2.connection_window_bytes, default_window)) {
    const auto options = make_options();
    nghttp2_session* made = nullptr;
    nghttp2_mem memory = pooled(memory_); // of which it keeps a copy
    check(nghttp2_session_server_new3(&made, callbacks_of_all(), this, options.get(), &memory));
    session_.reset(made);
    submit_settings(limits);
}

void engine::submit_settings(const server_limits& limits) {
    const std::array settings{
        nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, // see put_limit()
                               limit_of_nghttp2(streams_max_)},
        nghttp2_settings_entry{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, default_window},
        nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,
                               static_cast<std::uint32_t>(limits.parser.head_bytes_max)},
        nghttp2_settings_entry{NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL, 1},
        nghttp2_settings_entry{NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
    };
    check(nghttp2_submit_settings(session_.get(), NGHTTP2_FLAG_NONE, settings.data(),
                                  settings.size()));
    if (connection_window_ > default_window) {
        check(nghttp2_session_set_local_window_size(session_.get(), NGHTTP2_FLAG_NONE, 0,
                                                    static_cast<std::int32_t>(connection_window_)));
    }
}

/// Of the frame of submit_settings(), whose first value it is.
void engine::put_limit(char* settings) const noexcept {
    constexpr std::size_t value_at = 9 + 2;
    for (std::size_t i = 0; i < 4; ++i)
        settings[value_at + i] = static_cast<char>(streams_max_ >> (24 - 8 * i) & 0xff);
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
    bool more = true;
    while (more && out.size() < bytes_max) {
        const std::uint8_t* piece = nullptr;
        made_content_ = false;
        const ssize_t size = nghttp2_session_mem_send(session_.get(), &piece);
        if (std::exchange(out_of_memory_, false) || size < 0 || memory_.was_short()) {
            out_ = nullptr; // nghttp2 says so of nothing else
            throw std::bad_alloc();
        }
        if (size > 0) {
            const std::size_t before = out.size();
            out.append(reinterpret_cast<const char*>(piece), static_cast<std::size_t>(size));
            if (!std::exchange(greeted_, true))
                put_limit(out.data() + before);
        }
        more = size > 0 || made_content_;
    }
    settings_came_ = settings_came_ && more;
    out_ = nullptr;
}

/// A copy is for what is small, or where the client's stream has no use for bytes where they are.
void engine::add_content(std::string_view head, const engine_stream::slice& piece) {
    constexpr std::size_t copied_max = 4'096;
    constexpr std::size_t reserved_max = 65'536;
    made_content_ = true;
    out_->append(head);
    if (piece.bytes.size() > copied_max) {
        if (piece.whole != nullptr && events_.send_shared(*out_, piece.whole->part(piece.bytes)))
            return;
        // Once for all that will be in it.
        if (out_->capacity() - out_->size() < piece.bytes.size())
            out_->reserve(std::max(out_->size(), std::min(out_max_, reserved_max)) +
                          piece.bytes.size());
    }
    out_->append(piece.bytes);
}

// --- Answers ---

void engine::answer(std::int32_t id, const response& with, bool content) {
    wire_fields fields(fields_);
    fields.add_head(with);
    nghttp2_data_provider from{};
    from.read_callback = &engine::read_content;
    check(nghttp2_submit_response(session_.get(), id, fields_.data(), fields_.size(),
                                  content ? &from : nullptr));
}

void engine::invite(std::int32_t id) {
    wire_fields fields(fields_);
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
    kept_ -= bytes;
    check(nghttp2_session_consume(session_.get(), id, bytes));
    announce_taken();
}

void engine::consumed(std::size_t bytes) {
    kept_ -= bytes;
    check(nghttp2_session_consume_connection(session_.get(), bytes));
    announce_taken();
}

/// By itself nghttp2 announces half a window at a time. Of the connection's there may never be so
/// much to announce, if more than half of it is kept by streams that nobody reads.
void engine::announce_taken() {
    const std::int32_t left = std::max(0, nghttp2_session_get_local_window_size(session_.get()));
    const auto received =
        static_cast<std::size_t>(nghttp2_session_get_effective_recv_data_length(session_.get()));
    const std::size_t taken = received - std::min(received, kept_);
    const bool short_of_it = static_cast<std::uint32_t>(left) < connection_window_ / 4;
    if (!short_of_it || taken <= static_cast<std::size_t>(std::min(left, frame_bytes)))
        return;
    check(nghttp2_submit_window_update(session_.get(), NGHTTP2_FLAG_NONE, 0,
                                       static_cast<std::int32_t>(taken)));
}

void engine::widen(std::int32_t id) {
    if (stream_window_ > default_window)
        check(nghttp2_session_set_local_window_size(session_.get(), NGHTTP2_FLAG_NONE, id,
                                                    static_cast<std::int32_t>(stream_window_)));
}

bool engine::keeps_back() const noexcept {
    return nghttp2_session_get_local_window_size(session_.get()) < frame_bytes;
}

// --- The end ---

void engine::announce_end() { check(nghttp2_submit_shutdown_notice(session_.get())); }

void engine::end_behind_streams() {
    last_id_ = nghttp2_session_get_last_proc_stream_id(session_.get());
    check(nghttp2_submit_goaway(session_.get(), NGHTTP2_FLAG_NONE, last_id_, NGHTTP2_NO_ERROR,
                                nullptr, 0));
}

void engine::end(error_code why) {
    const auto last = std::min(last_id_, nghttp2_session_get_last_proc_stream_id(session_.get()));
    check(
        nghttp2_session_terminate_session2(session_.get(), last, static_cast<std::uint32_t>(why)));
}

bool engine::over() const noexcept {
    return nghttp2_session_want_read(session_.get()) == 0 &&
           nghttp2_session_want_write(session_.get()) == 0;
}

bool engine::has_room(std::int32_t id, std::size_t bytes) const noexcept {
    if (bytes == 0)
        return true;
    const std::int32_t of_all = nghttp2_session_get_remote_window_size(session_.get());
    const std::int32_t own = nghttp2_session_get_stream_remote_window_size(session_.get(), id);
    const std::int32_t room = std::min(of_all, own);
    return room > 0 && static_cast<std::size_t>(room) >= bytes;
}

bool engine::is_connection_held_back() const noexcept {
    return nghttp2_session_get_remote_window_size(session_.get()) <= 0;
}

bool engine::is_held_back(std::int32_t id) const noexcept {
    return is_connection_held_back() ||
           nghttp2_session_get_stream_remote_window_size(session_.get(), id) <= 0;
}

// --- Priorities ---

// nghttp2 takes no part of a priority of which one is wrong: what it has understood is put right.
// It knows of no PRIORITY_UPDATE: of the streams that one names before they begin it would keep a
// list, and forget to take them off it.

/// One that is no dictionary is none.
void engine::wish(std::string_view priority) noexcept {
    if (!std::exchange(wishes_, true))
        wished_ = stream_priority();
    if (wished_)
        wished_ = read_priority(priority, *wished_);
}

void engine::prioritize(std::int32_t id, stream_priority as) {
    const nghttp2_extpri wanted{.urgency = as.urgency, .inc = as.incremental ? 1 : 0};
    check(nghttp2_session_change_extpri_stream_priority(session_.get(), id, &wanted, 1));
}

/// A stream has begun. What a frame has said of it is the later word (RFC 9218 section 7).
void engine::prioritize_begun(std::int32_t id) {
    const auto early =
        std::ranges::find(wished_early_, id, [](const auto& one) { return one.first; });
    if (early != wished_early_.end())
        prioritize(id, early->second);
    else if (wishes_)
        prioritize(id, wished_.value_or(stream_priority()));
    std::erase_if(wished_early_, [id](const auto& one) { return one.first <= id; });
}

/// frame_watch has seen to how many it names that have not begun.
void engine::update_priority(std::int32_t id, std::string_view value) {
    const auto wanted = read_priority(value);
    if (!wanted)
        return;
    if (id <= nghttp2_session_get_last_proc_stream_id(session_.get())) {
        if (find(id) != nullptr)
            prioritize(id, *wanted);
        return;
    }
    const auto known =
        std::ranges::find(wished_early_, id, [](const auto& one) { return one.first; });
    if (known != wished_early_.end())
        known->second = *wanted;
    else if (wished_early_.size() < streams_max_)
        wished_early_.emplace_back(id, *wanted);
}

// --- Streams ---

void engine::forget(std::int32_t id) noexcept {
    nghttp2_session_set_stream_user_data(session_.get(), id, nullptr);
}

/// Counts a field that has been unpacked, whether or not there is a stream that it is of: a section
/// that is too large costs as much as a stream that is given up. False: the client means harm.
bool engine::unpack(std::size_t bytes, bool trailers) noexcept {
    constexpr std::size_t beside = 32; // what each counts beside its text (RFC 9113 section 6.5.2)
    const std::size_t most = trailers ? trailer_bytes_max_ : head_bytes_max_;
    const bool was_too_large = unpacked_ > most;
    unpacked_ += bytes + beside;
    if (unpacked_ <= most)
        return true;
    return unpacked_ / bomb_factor <= most && (was_too_large || events_.on_provoked_reset());
}

engine_stream* engine::find(std::int32_t id) const noexcept {
    return static_cast<engine_stream*>(nghttp2_session_get_stream_user_data(session_.get(), id));
}

} // namespace rota::http::h2
