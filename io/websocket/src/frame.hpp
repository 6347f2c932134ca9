#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "masking.hpp"

namespace rota::http::ws {

/// RFC 6455 section 5.2. The others are reserved.
enum class opcode : std::uint8_t {
    continuation = 0,
    text = 1,
    binary = 2,
    close = 8,
    ping = 9,
    pong = 10,
};

[[nodiscard]] constexpr bool is_control(opcode op) noexcept { return op >= opcode::close; }

/// Of a control frame (section 5.5).
inline constexpr std::size_t control_bytes_max = 125;

/// Why a peer is told goodbye: a status of section 7.4.1, and words for it.
struct close_reason {
    std::uint16_t code = 0; ///< 0: nothing is wrong
    const char* why = "";
};

namespace close_code {
inline constexpr std::uint16_t normal = 1000;
inline constexpr std::uint16_t going_away = 1001;
inline constexpr std::uint16_t protocol_error = 1002;
inline constexpr std::uint16_t none = 1005;     ///< never sent: a close frame that says nothing
inline constexpr std::uint16_t abnormal = 1006; ///< never sent: the end came without a close frame
inline constexpr std::uint16_t invalid_data = 1007;
inline constexpr std::uint16_t violation = 1008; ///< of what a server asks of its clients
inline constexpr std::uint16_t too_big = 1009;
inline constexpr std::uint16_t internal_error = 1011;
inline constexpr std::uint16_t try_later = 1013;
} // namespace close_code

/// Whether a close frame may carry it: 1000-1003, 1007-1014, 3000-4999 (section 7.4).
[[nodiscard]] bool may_be_sent(std::uint16_t code) noexcept;

/// What stands before the payload of a frame.
struct frame_head {
    opcode op = opcode::continuation;
    bool last = true;         ///< FIN
    bool compressed = false;  ///< RSV1 (RFC 7692 section 6)
    std::uint64_t length = 0; ///< until the head is complete, what it is at least
    mask_key mask{};
};

/// Reads the heads of frames that clients send, whatever pieces they come in, and finds what is
/// wrong with one, or with its place among those before it, at the first byte that shows it.
class head_reader {
public:
    /// `compression`: RSV1 may be set.
    explicit head_reader(bool compression) noexcept : compression_(compression) {}

    /// Takes the next bytes, as far as they belong to the head: how many. Behind complete() or a
    /// fault() begin() is due.
    [[nodiscard]] std::size_t take(std::string_view in) noexcept;
    void begin() noexcept;
    [[nodiscard]] bool complete() const noexcept { return taken_ == size_ && wrong_.code == 0; }
    [[nodiscard]] bool begun() const noexcept { return taken_ != 0; }
    [[nodiscard]] const close_reason& fault() const noexcept { return wrong_; }
    [[nodiscard]] const frame_head& head() const noexcept { return head_; }

private:
    void look() noexcept;
    void look_at_first(unsigned char byte) noexcept;
    void look_at_sequence() noexcept;
    void look_at_second(unsigned char byte) noexcept;
    void look_at_length(std::size_t mask_at) noexcept;
    void fail(const char* why) noexcept { wrong_ = {close_code::protocol_error, why}; }

    static constexpr std::size_t size_max = 14;

    std::array<char, size_max> bytes_{};
    std::uint8_t taken_ = 0;
    std::uint8_t size_ = 2; // as far as that is known
    const bool compression_;
    bool within_ = false; // a message: more of its frames are to come
    frame_head head_;
    close_reason wrong_;
};

/// The head of a frame that a server sends, so without a mask: at most 10 bytes.
struct written_head {
    std::array<char, 10> bytes{};
    std::uint8_t size = 0;
    [[nodiscard]] std::string_view view() const noexcept { return {bytes.data(), size}; }
};

[[nodiscard]] written_head write_head(opcode op, bool compressed, std::uint64_t length,
                                      bool last = true) noexcept;

/// The code in the payload of a close frame; 0 if there is none.
[[nodiscard]] std::uint16_t close_code_of(std::string_view payload) noexcept;

/// The payload of a close frame: none for a code of 0.
[[nodiscard]] std::string close_payload(std::uint16_t code, std::string_view reason);

} // namespace rota::http::ws
