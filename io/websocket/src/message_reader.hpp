#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <rota/http/detail/memory_budget.hpp>

#include "frame.hpp"
#include "inflater.hpp"
#include "utf8_check.hpp"

namespace rota::http::ws {

/// How a client's messages are compressed: see inflater.
struct inflate_terms {
    int window_bits = 15;
    bool keeps_context = true;
};

/// Bytes of a client to messages and control frames (RFC 6455 sections 5 and 8.1), without I/O:
/// whatever pieces they come in, it is the same. What is wrong is found at the first byte that
/// shows it.
class message_reader {
public:
    enum class found : std::uint8_t {
        more,    ///< it wants more bytes; content() may have grown
        piece,   ///< there is content(), and a control frame behind it
        busy,    ///< much has come of it: go on with the rest, others may have a turn first
        message, ///< content() has the end of a message
        control, ///< control() is whole
        failed,  ///< fault() says why; nothing can follow
    };
    struct step {
        std::size_t taken = 0; ///< of the bytes
        found what = found::more;
    };

    /// A message of more than `bytes_max`, decompressed, is refused, one that is compressed to more
    /// than nine eighths of that and 64 KiB, and one that `memory` has no room for, which is null
    /// or outlives it.
    explicit message_reader(std::size_t bytes_max, std::optional<inflate_terms> compression = {},
                            memory_budget* memory = nullptr);

    /// Takes what it can of `in`, at most to the end of a message or control frame. Throws
    /// std::bad_alloc.
    [[nodiscard]] step take(std::string_view in);

    /// What has come of the message at work and was not dropped by forget_content().
    [[nodiscard]] std::string_view content() const noexcept { return content_; }
    /// Drops that: it has been seen. Due behind a message.
    void forget_content() noexcept;
    [[nodiscard]] bool is_text() const noexcept { return text_; }
    /// Of the control frame that was found last.
    [[nodiscard]] opcode control_op() const noexcept { return control_op_; }
    [[nodiscard]] std::string_view control() const noexcept {
        return {control_.data(), control_size_};
    }
    [[nodiscard]] const close_reason& fault() const noexcept { return wrong_; }
    /// Whether nothing of a message has come: between two of them.
    [[nodiscard]] bool between_messages() const noexcept { return !open_; }

    /// Gives up the memory that is not needed until more comes. True if there is nothing left that
    /// another one would not have in the beginning.
    [[nodiscard]] bool rest();
    /// Gives up all: nothing more is taken.
    void release() noexcept;
    /// About how many bytes of memory it holds.
    [[nodiscard]] std::size_t memory() const noexcept;

private:
    [[nodiscard]] bool has_room() const noexcept;
    void begin_frame() noexcept;
    void begin_message(const frame_head& head) noexcept;
    [[nodiscard]] std::size_t take_control(std::string_view in) noexcept;
    void check_close() noexcept;
    [[nodiscard]] std::size_t take_content(std::string_view in);
    void append_plain(std::string_view masked);
    [[nodiscard]] std::size_t append_compressed(std::string_view masked);
    [[nodiscard]] found end_frame();
    void end_message();
    void check_text(std::size_t from) noexcept;
    void note(inflater::result how) noexcept;
    /// How much content() may have: what was dropped counts, too.
    [[nodiscard]] std::size_t content_max() const noexcept { return bytes_max_ - dropped_; }
    void account();
    void give_up_content() noexcept;
    void fail(std::uint16_t code, const char* why) noexcept { wrong_ = {code, why}; }

    const std::size_t bytes_max_;
    std::optional<inflater> inflater_;
    head_reader head_;
    std::uint64_t left_ = 0; // of the frame's payload
    std::uint64_t done_ = 0; // of it, for the mask
    bool in_payload_ = false;

    // -- the message
    bool open_ = false; // its last frame has not begun, or not ended
    bool text_ = false;
    bool compressed_ = false;
    bool ended_ = false;     // it is whole, and its content not yet dropped
    std::uint64_t came_ = 0; // of payload, with the frame at work
    std::size_t dropped_ = 0;
    std::string content_;
    memory_budget::share kept_; // of what content_ has room for
    utf8_check utf8_;

    // -- the control frame
    std::array<char, control_bytes_max> control_{};
    std::uint8_t control_size_ = 0;
    opcode control_op_ = opcode::ping;

    close_reason wrong_;
};

} // namespace rota::http::ws
