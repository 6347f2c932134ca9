#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <rota/coding/format.hpp>

namespace rota::coding {

/// How a decoder works.
struct decoder_options {
    format from = format::gzip;
    /// The longest look back that it has to remember, as a power of two; more is `corrupt`. 8 to 15
    /// for gzip, zlib and deflate (0: 15; 8 is treated as 9, which encoders write for it), 10 to 27
    /// for zstd (0: 23, which RFC 9659 has for HTTP). Ignored for br, which has up to 24 by its
    /// format.
    int window_bits = 0;
};

/// Decompresses, piece by piece, into memory of the caller's: the input may be hostile. Used by one
/// thread at a time; may be used on another later.
class decoder {
public:
    enum class state : std::uint8_t {
        more,    ///< it goes on, with more input or, if the output is full, with more room
        ended,   ///< the end; unread input is not part of the content
        corrupt, ///< this is not the format, or needs more memory than it may have
    };
    struct result {
        std::size_t read = 0;    ///< of the input
        std::size_t written = 0; ///< of the output
        state now = state::more;
    };

    virtual ~decoder() = default;
    decoder(const decoder&) = delete;
    decoder& operator=(const decoder&) = delete;

    /// Takes of `in` what it can, and writes at most out.size() bytes, which is at least 1. If it
    /// fills the output, or writes and takes nothing, there may be more: the next call may do
    /// without input. After `ended` or `corrupt` a reset() is due. Throws std::bad_alloc; a reset()
    /// is due then, too.
    ///
    /// Contents of gzip and zstd may be several of them, one after the other (RFC 1952 section 2.2,
    /// RFC 8878 section 3.1): each of them ends, and a reset() begins the next.
    [[nodiscard]] virtual result decode(std::string_view in, std::span<char> out) = 0;
    /// Returns whether the next decode() may take far longer than its input and output suggest: br
    /// fills its whole window, up to 16 MiB, from next to no input, before it gives the first byte
    /// of it. Such a call belongs in blocking().
    [[nodiscard]] virtual bool may_take_long() const noexcept { return false; }
    /// Begins anew, with nothing of what came before: cheaper than another decoder. Throws
    /// std::bad_alloc.
    virtual void reset() = 0;
    /// Begins anew, but keeps the window: continues after a final block, as RFC 7692 section
    /// 7.2.3.4 asks. For deflate only; else as reset().
    virtual void reset_keeping_window() { reset(); }
    /// Returns whether all that it has read are whole blocks that end on a whole byte, as after a
    /// flush::sync. For deflate only; else false.
    [[nodiscard]] virtual bool between_blocks() const noexcept { return false; }
    /// Returns what of its output may still be referred to, between two blocks that end on a whole
    /// byte: a decoder that begins with set_window() of it continues where this one is, so this one
    /// need not be kept while no input comes. For deflate only; else empty. Throws std::bad_alloc.
    [[nodiscard]] virtual std::string window() const { return {}; }
    /// Sets the window of another decoder. Only for one that has read nothing yet, since it was
    /// made or reset.
    virtual void set_window(std::string_view /*of_another*/) {}
    /// Returns about how many bytes of memory it holds.
    [[nodiscard]] virtual std::size_t memory() const noexcept = 0;

    [[nodiscard]] format from() const noexcept { return from_; }

protected:
    explicit decoder(format from) noexcept : from_(from) {}

private:
    const format from_;
};

/// Makes a decoder. Throws std::invalid_argument for options out of range, or a format that this
/// build lacks; std::bad_alloc.
[[nodiscard]] std::unique_ptr<decoder> make_decoder(const decoder_options& options);

} // namespace rota::coding
