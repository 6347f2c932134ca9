#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <rota/http/limits.hpp>

#include "flood_meter.hpp"

namespace rota::http::h2 {

/// Error codes (RFC 9113 section 7).
enum class error_code : std::uint32_t {
    no_error = 0x0,
    protocol_error = 0x1,
    internal_error = 0x2,
    flow_control_error = 0x3,
    settings_timeout = 0x4,
    stream_closed = 0x5,
    frame_size_error = 0x6,
    refused_stream = 0x7,
    cancel = 0x8,
    compression_error = 0x9,
    connect_error = 0xa,
    enhance_your_calm = 0xb,
    inadequate_security = 0xc,
    http_1_1_required = 0xd,
};

/// What ends a connection, and why, in a literal.
struct fault {
    error_code code = error_code::no_error;
    const char* why = "";
};

/// Which streams there are.
class stream_states {
public:
    /// Neither closed nor not begun.
    [[nodiscard]] virtual bool is_open(std::uint32_t id) const noexcept = 0;
    /// Whether one that has not begun may do so; else its frames are ignored.
    [[nodiscard]] virtual bool may_begin(std::uint32_t id) const noexcept = 0;
    /// How many there are.
    [[nodiscard]] virtual std::size_t open_streams() const noexcept = 0;

protected:
    ~stream_states() = default;
};

/// Looks at a client's frames on their way to what reads them, and says when there are too many of
/// those that cost and bring nothing. Also sees what that does not look at: the priorities of RFC
/// 7540, which are obsolete, but have rules; frames of streams that are forgotten, since the client
/// had ended them (RFC 9113 section 5.1); what is between the frames of a header section; and
/// PRIORITY_UPDATE, for which nghttp2 1.52 makes streams that it frees while they are in use. And
/// hides what that looks at too closely: the last stream that a client's GOAWAY names, one of
/// the server's, which opens none (section 6.8).
///
/// Sans I/O: knows the framing (RFC 9113 section 4.1). One client's, one thread.
class frame_watch {
public:
    using time_point = std::chrono::steady_clock::time_point;

    /// All of them outlive it. `header_bytes_max`: of header sections as they come.
    frame_watch(const http2_limits& limits, std::size_t header_bytes_max,
                const stream_states& streams) noexcept;

    /// What a PRIORITY_UPDATE says: of a stream that is open, or may begin.
    struct update {
        std::uint32_t stream = 0;
        std::string_view value; // valid until the next look()
    };
    /// Takes bytes that follow those taken before: how many of them may be read on; if not all, or
    /// something else is wrong, `found` says what. Behind those that are good there may be `zeros`
    /// bytes in whose place zeros are to be read on, or they have ended in an `updated`; the rest
    /// has not been taken: it is to be looked at when these have been read. Throws std::bad_alloc.
    struct result {
        std::size_t good = 0;
        std::optional<fault> found{};
        std::size_t zeros = 0;
        std::optional<update> updated{};
    };
    [[nodiscard]] result look(std::string_view bytes, time_point now);

    /// A frame of an answer has been sent: what a client says in return to it costs nothing. `cut`:
    /// it is so short since the client's windows allowed no more.
    void sent(std::size_t bytes, bool cut) noexcept;
    /// A stream ends by the client's fault, or is given up by it.
    [[nodiscard]] std::optional<fault> reset(time_point now) noexcept;

    /// A header section has begun, and its last byte has not come.
    [[nodiscard]] bool in_header_section() const noexcept;
    /// How many header sections have begun.
    [[nodiscard]] std::uint64_t header_sections() const noexcept { return header_sections_; }

private:
    static constexpr std::size_t header_size = 9;
    static constexpr std::size_t peeked_max = 64; // a longer PRIORITY_UPDATE says nothing

    struct frame {
        std::uint32_t length = 0;
        std::uint8_t type = 0;
        std::uint8_t flags = 0;
        std::uint32_t stream = 0;
    };
    [[nodiscard]] std::optional<fault> on_header(time_point now);
    [[nodiscard]] std::optional<fault> on_peeked(time_point now);
    [[nodiscard]] std::optional<fault> on_update_header(time_point now, std::size_t& peek) noexcept;
    [[nodiscard]] std::optional<fault> on_update();
    [[nodiscard]] std::optional<fault> on_data(time_point now, std::size_t& peek) noexcept;
    [[nodiscard]] std::optional<fault> on_headers(time_point now);
    [[nodiscard]] std::optional<fault> on_stream_frame() noexcept;
    [[nodiscard]] bool was_passed_over() const noexcept;
    [[nodiscard]] bool is_given_up() const noexcept;
    [[nodiscard]] std::optional<fault> on_late_data(time_point now) noexcept;
    void note_begin();
    void note_end() noexcept;
    [[nodiscard]] std::optional<fault> on_continuation(time_point now) noexcept;
    [[nodiscard]] std::optional<fault> unpacked_for_nothing(time_point now) noexcept;
    [[nodiscard]] std::optional<fault> on_answer_to_ours(time_point now) noexcept;
    [[nodiscard]] std::optional<fault> idle_frame(time_point now, std::uint32_t cost = 1) noexcept;
    [[nodiscard]] std::size_t wanted() const noexcept;

    const http2_limits& limits_;
    const std::size_t header_bytes_max_;
    const stream_states& streams_;
    // Streams that the client has begun, and neither ended nor reset: in order, all that are open,
    // and of those that the server has given up the last ones.
    std::vector<std::uint32_t> not_ended_;
    // Streams that it has passed over, from one to another, in order. Where there are too many of
    // these those that were closed between the oldest two count as passed over, too.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> passed_over_;
    std::uint32_t highest_ = 0;
    std::uint32_t known_ = 0; // the highest that its reader knows of
    std::optional<update> updated_;
    // Streams that PRIORITY_UPDATE has named before they began.
    std::vector<std::uint32_t> prioritized_;
    flood_meter resets_;
    flood_meter useless_frames_;
    std::uint64_t earned_bytes_ = 0;
    std::uint64_t late_bytes_ = 0; // that may have been under way to streams that are given up
    std::uint64_t header_sections_ = 0;
    std::size_t section_bytes_ = 0;
    std::uint32_t continuations_ = 0;
    std::uint32_t left_ = 0;   // of the payload
    std::uint32_t hidden_ = 0; // so many of these
    std::size_t preface_left_ = 24;
    std::array<unsigned char, header_size + peeked_max> start_{}; // of the frame
    std::size_t gathered_ = 0;
    std::size_t peek_ = 0; // so much of the payload belongs to start_
    frame now_;
    bool in_headers_ = false;     // its last frame has not begun
    bool is_for_nothing_ = false; // the header section
};

} // namespace rota::http::h2
