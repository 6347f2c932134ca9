#include "frame_watch.hpp"

#include <algorithm>
#include <utility>

namespace rota::http::h2 {
namespace {

enum frame_type : std::uint8_t {
    data = 0x0,
    headers = 0x1,
    priority = 0x2,
    rst_stream = 0x3,
    settings = 0x4,
    push_promise = 0x5,
    ping = 0x6,
    goaway = 0x7,
    window_update = 0x8,
    continuation = 0x9,
    priority_update = 0x10,
};

constexpr std::uint8_t end_stream = 0x1;
constexpr std::uint8_t end_headers = 0x4;
constexpr std::uint8_t padded = 0x8;
constexpr std::uint8_t has_priority = 0x20;

/// Of so many streams that the server has given up frames may be under way.
constexpr std::size_t given_up_min = 128;

/// Ranges of streams that a client has passed over.
constexpr std::size_t passed_over_max = 64;

/// What is unpacked for nothing costs a frame more for each so many bytes.
constexpr std::uint32_t bytes_per_frame = 1'024;

/// What DATA that comes too late counts beside its bytes.
constexpr std::uint32_t late_frame_bytes = 256;

/// SETTINGS_MAX_FRAME_SIZE, as it is where nothing else is said (RFC 9113 section 6.5.2).
constexpr std::uint32_t frame_bytes_max = 16'384;

/// What a client may say for each so many bytes that it was sent, for nothing.
constexpr std::uint64_t bytes_per_word = 1'024;
/// However short a frame is, it is worth the two words that open its windows again.
constexpr std::uint64_t frame_bytes_min = bytes_per_word * 2;
/// Unless it is cut by a window that opens by less than this.
constexpr std::size_t window_min = 256;
/// No more is saved up than for a burst of this.
constexpr std::uint64_t earned_bytes_max = 4'194'304;

std::uint32_t read_31_bits(const unsigned char* at) noexcept {
    return (std::uint32_t{at[0]} & 0x7f) << 24 | std::uint32_t{at[1]} << 16 |
           std::uint32_t{at[2]} << 8 | std::uint32_t{at[3]};
}

constexpr fault too_many_resets{error_code::enhance_your_calm, "too many streams are given up"};
constexpr fault too_many_frames{error_code::enhance_your_calm, "too many frames without a use"};
constexpr fault too_much_header{error_code::enhance_your_calm, "a header section without an end"};
constexpr fault ended_stream{error_code::stream_closed, "a frame of a stream that has ended"};
constexpr fault passed_over{error_code::protocol_error, "a stream before one that has begun"};
constexpr fault in_between{error_code::protocol_error, "a frame within a header section"};
constexpr fault no_prioritized{error_code::protocol_error, "PRIORITY_UPDATE of no stream"};
constexpr fault short_update{error_code::frame_size_error, "PRIORITY_UPDATE without a stream"};
constexpr fault too_many_prioritized{error_code::protocol_error, "PRIORITY_UPDATE of too many"};
constexpr fault too_long{error_code::frame_size_error, "a frame too long"};
constexpr fault own_dependency{error_code::protocol_error, "a stream that depends on itself"};

} // namespace

frame_watch::frame_watch(const http2_limits& limits, std::size_t header_bytes_max,
                         const stream_states& streams) noexcept
    : limits_(limits), header_bytes_max_(header_bytes_max), streams_(streams),
      resets_(limits.resets_burst, limits.resets_per_s),
      useless_frames_(limits.idle_frames_burst, limits.idle_frames_per_s) {}

void frame_watch::sent(std::size_t bytes, bool cut) noexcept {
    const bool drips = cut && bytes < window_min;
    const std::uint64_t worth = drips ? bytes : std::max<std::uint64_t>(bytes, frame_bytes_min);
    earned_bytes_ = std::min(earned_bytes_ + worth, earned_bytes_max);
}

std::optional<fault> frame_watch::reset(time_point now) noexcept {
    if (resets_.add(1, now))
        return std::nullopt;
    return too_many_resets;
}

std::size_t frame_watch::wanted() const noexcept { return header_size + peek_; }

frame_watch::result frame_watch::look(std::string_view bytes, time_point now) {
    known_ = highest_;
    std::size_t at = 0;
    while (at < bytes.size()) {
        if (preface_left_ > 0) {
            const std::size_t size = std::min(preface_left_, bytes.size() - at);
            preface_left_ -= size;
            at += size;
            continue;
        }
        if (hidden_ > 0) {
            const std::size_t size = std::min<std::size_t>(hidden_, bytes.size() - at);
            hidden_ -= static_cast<std::uint32_t>(size);
            left_ -= static_cast<std::uint32_t>(size);
            return {at, std::nullopt, size};
        }
        if (left_ > 0 && gathered_ == 0) {
            const std::size_t size = std::min<std::size_t>(left_, bytes.size() - at);
            left_ -= static_cast<std::uint32_t>(size);
            at += size;
            continue;
        }
        const std::size_t before = at;
        const std::size_t size = std::min(wanted() - gathered_, bytes.size() - at);
        std::copy_n(bytes.data() + at, size, start_.data() + gathered_);
        gathered_ += size;
        at += size;
        if (gathered_ < wanted())
            break;
        if (before > 0 && peek_ > 0 && now_.type == priority_update) {
            gathered_ -= size; // when all before it has been read
            return {before, std::nullopt};
        }
        std::optional<fault> found;
        if (peek_ == 0)
            found = on_header(now); // may want a part of the payload, too
        else
            found = on_peeked(now);
        if (found)
            return {before, found};
        if (updated_)
            return {at, std::nullopt, 0, std::exchange(updated_, std::nullopt)};
    }
    return {at, std::nullopt};
}

std::optional<fault> frame_watch::on_header(time_point now) {
    const unsigned char* const at = start_.data();
    now_.length = std::uint32_t{at[0]} << 16 | std::uint32_t{at[1]} << 8 | std::uint32_t{at[2]};
    now_.type = at[3];
    now_.flags = at[4];
    now_.stream = read_31_bits(at + 5);
    left_ = now_.length;
    if (in_headers_ && now_.type != continuation) // RFC 9113 section 4.3
        return in_between;
    std::size_t peek = 0;
    std::optional<fault> found;
    switch (now_.type) {
    case data:
        found = on_data(now, peek);
        break;
    case headers:
        found = on_headers(now);
        if ((now_.flags & has_priority) != 0)
            peek = (now_.flags & padded) != 0 ? 5 : 4;
        break;
    case continuation:
        found = on_continuation(now);
        break;
    case priority:
        found = idle_frame(now);
        if (!found && now_.stream == 0)
            found = fault{error_code::protocol_error, "PRIORITY of no stream"};
        if (!found && now_.length != 5)
            found = fault{error_code::frame_size_error, "PRIORITY of another size"};
        peek = 4;
        break;
    case priority_update:
        found = on_update_header(now, peek);
        break;
    case rst_stream:
        found = reset(now);
        note_end();
        break;
    case ping:
    case window_update:
        found = on_answer_to_ours(now);
        break;
    case goaway:
        hidden_ = std::min<std::uint32_t>(now_.length, 4);
        found = idle_frame(now);
        break;
    default: // SETTINGS, and what is unknown
        found = idle_frame(now);
        break;
    }
    if (found)
        return found;
    if (peek > 0 && now_.length >= peek) {
        peek_ = peek;
        left_ = now_.length - static_cast<std::uint32_t>(peek);
        return std::nullopt;
    }
    gathered_ = 0;
    return std::nullopt;
}

std::optional<fault> frame_watch::on_peeked(time_point now) {
    const unsigned char* const payload = start_.data() + header_size;
    const std::size_t size = peek_;
    gathered_ = 0;
    peek_ = 0;
    if (now_.type == data) {
        const bool all_padding = std::size_t{payload[0]} + 1 == now_.length;
        return all_padding ? idle_frame(now) : std::nullopt;
    }
    if (now_.type == priority_update)
        return on_update();
    // RFC 7540 section 5.3.1.
    if (read_31_bits(payload + (size - 4)) == now_.stream)
        return own_dependency;
    return std::nullopt;
}

/// A client may send one with each request.
std::optional<fault> frame_watch::on_update_header(time_point now, std::size_t& peek) noexcept {
    if (now_.stream != 0)
        return fault{error_code::protocol_error, "PRIORITY_UPDATE on a stream"};
    if (now_.length < 4)
        return short_update;
    peek = std::min<std::size_t>(now_.length, peeked_max);
    return on_answer_to_ours(now);
}

/// RFC 9218 section 7.1: no stream is the server's, and those that are to come count as if they
/// were there. Its reader has read up to here.
std::optional<fault> frame_watch::on_update() {
    const unsigned char* const payload = start_.data() + header_size;
    const std::uint32_t id = read_31_bits(payload);
    if (id % 2 == 0)
        return no_prioritized;
    if (id > highest_ && std::ranges::find(prioritized_, id) == prioritized_.end()) {
        if (prioritized_.size() + streams_.open_streams() >= limits_.streams_max)
            return too_many_prioritized;
        prioritized_.push_back(id);
    }
    if (now_.length <= peeked_max) {
        updated_ = update{
            id, std::string_view(reinterpret_cast<const char*>(payload + 4), now_.length - 4)};
    }
    return std::nullopt;
}

std::optional<fault> frame_watch::on_data(time_point now, std::size_t& peek) noexcept {
    if (const auto found = on_stream_frame())
        return found;
    if ((now_.flags & end_stream) != 0)
        return std::nullopt;
    if (now_.length == 0)
        return idle_frame(now);
    if (is_given_up())
        return on_late_data(now);
    if ((now_.flags & padded) != 0)
        peek = 1;
    return std::nullopt;
}

/// By the server: its reader drops what comes of it.
bool frame_watch::is_given_up() const noexcept {
    return now_.stream % 2 != 0 && now_.stream <= known_ && !streams_.is_open(now_.stream);
}

/// What the windows let through may have been under way.
std::optional<fault> frame_watch::on_late_data(time_point now) noexcept {
    const std::uint64_t cost = std::uint64_t{now_.length} + late_frame_bytes;
    if (late_bytes_ < cost)
        return idle_frame(now);
    late_bytes_ -= cost;
    return std::nullopt;
}

void frame_watch::note_begin() {
    const std::uint32_t next = highest_ == 0 ? 1 : highest_ + 2;
    if (now_.stream > next) {
        if (passed_over_.size() == passed_over_max) {
            passed_over_[1].first = passed_over_[0].first;
            passed_over_.erase(passed_over_.begin());
        }
        passed_over_.emplace_back(next, now_.stream - 2);
    }
    highest_ = now_.stream;
    std::erase_if(prioritized_, [this](std::uint32_t id) { return id <= highest_; });
    if ((now_.flags & end_stream) != 0)
        return;
    late_bytes_ = std::min<std::uint64_t>(late_bytes_ + limits_.stream_window_bytes,
                                          limits_.connection_window_bytes);
    // All that may be given up at once: more end the connection.
    const std::size_t given_up_kept = std::max<std::size_t>(given_up_min, limits_.resets_burst);
    if (not_ended_.size() >= limits_.streams_max + given_up_kept) {
        const auto given_up = std::find_if(not_ended_.begin(), not_ended_.end(), [this](auto id) {
            return id <= known_ && !streams_.is_open(id);
        });
        if (given_up != not_ended_.end()) // else its reader does not know of them yet
            not_ended_.erase(given_up);
    }
    not_ended_.push_back(now_.stream);
}

void frame_watch::note_end() noexcept {
    const auto at = std::lower_bound(not_ended_.begin(), not_ended_.end(), now_.stream);
    if (at != not_ended_.end() && *at == now_.stream)
        not_ended_.erase(at);
}

/// HEADERS or DATA. Of a stream that its client has ended there are none; those of one that the
/// server has given up may have been under way. What is no client's stream, or idle, is its
/// reader's.
std::optional<fault> frame_watch::on_stream_frame() noexcept {
    if (now_.stream % 2 == 0 || now_.stream > highest_)
        return std::nullopt;
    if (!std::binary_search(not_ended_.begin(), not_ended_.end(), now_.stream))
        return was_passed_over() ? passed_over : ended_stream;
    if ((now_.flags & end_stream) != 0)
        note_end();
    return std::nullopt;
}

/// Whether a stream has never begun, though a later one has (RFC 9113 section 5.1.1).
bool frame_watch::was_passed_over() const noexcept {
    const auto at = std::ranges::lower_bound(passed_over_, now_.stream, {},
                                             [](const auto& range) { return range.second; });
    return at != passed_over_.end() && at->first <= now_.stream && !streams_.is_open(now_.stream);
}

std::optional<fault> frame_watch::on_headers(time_point now) {
    if (now_.stream % 2 != 0 && now_.stream > highest_) {
        is_for_nothing_ = !streams_.may_begin(now_.stream);
        note_begin();
    } else {
        // Trailers end their stream (RFC 9113 section 8.1), so of one there are no more than these.
        is_for_nothing_ = is_given_up() || (now_.flags & end_stream) == 0;
        if (const auto found = on_stream_frame())
            return found;
    }
    ++header_sections_;
    continuations_ = 0;
    section_bytes_ = now_.length;
    in_headers_ = (now_.flags & end_headers) == 0;
    return is_for_nothing_ ? unpacked_for_nothing(now) : std::nullopt;
}

/// Its reader unpacks the section, and tells nobody how large it becomes.
std::optional<fault> frame_watch::unpacked_for_nothing(time_point now) noexcept {
    return idle_frame(now, 1 + now_.length / bytes_per_frame);
}

std::optional<fault> frame_watch::on_continuation(time_point now) noexcept {
    if (now_.length > frame_bytes_max) // nghttp2 looks at all others
        return too_long;
    section_bytes_ += now_.length;
    if (++continuations_ > limits_.continuations_max || section_bytes_ > header_bytes_max_)
        return too_much_header;
    in_headers_ = in_headers_ && (now_.flags & end_headers) == 0;
    return is_for_nothing_ ? unpacked_for_nothing(now) : std::nullopt;
}

bool frame_watch::in_header_section() const noexcept {
    const bool in_payload = left_ > 0 || peek_ > 0;
    return in_headers_ || (in_payload && (now_.type == headers || now_.type == continuation));
}

/// A client may say much in answer to much.
std::optional<fault> frame_watch::on_answer_to_ours(time_point now) noexcept {
    if (earned_bytes_ >= bytes_per_word) {
        earned_bytes_ -= bytes_per_word;
        return std::nullopt;
    }
    return idle_frame(now);
}

std::optional<fault> frame_watch::idle_frame(time_point now, std::uint32_t cost) noexcept {
    if (useless_frames_.add(cost, now))
        return std::nullopt;
    return too_many_frames;
}

} // namespace rota::http::h2
