#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <rota/coding/format.hpp>

namespace rota::coding {

/// How an encoder works. What is 0 is chosen for the format.
struct encoder_options {
    format to = format::gzip;
    /// How hard it tries: 1 to 9 for gzip, zlib and deflate (0: 6), 1 to 11 for br (0: 4), 1 to 19
    /// for zstd (0: 3).
    int level = 0;
    /// How far back it looks, as a power of two: 8 to 15 for gzip, zlib and deflate (0: 15), 10 to
    /// 24 for br (0: 18), 10 to 23 for zstd (0: 17). An encoder holds at least that many bytes, and
    /// so does the decoder.
    int window_bits = 0;
    /// For gzip, zlib and deflate: 1 to 9, the memory for the search, 512 << this (0: 8).
    int memory_level = 0;
};

/// What is done after the bytes that an encoder is given.
enum class flush : std::uint8_t {
    none, ///< it may keep them until more come
    sync, ///< what has come can be decoded; deflate ends on the bytes 00 00 ff ff
    end,  ///< the end; then the encoder can be used again after a reset()
};

/// Compresses, piece by piece, into memory of the caller's. Used by one thread at a time; may be
/// used on another later.
class encoder {
public:
    struct result {
        std::size_t read = 0;    ///< of the input
        std::size_t written = 0; ///< of the output
        /// True if all of the input was taken, and what `how` asks for is in the output; else the
        /// call has to be repeated with the rest of the input and the same `how`.
        bool done = false;
    };

    virtual ~encoder() = default;
    encoder(const encoder&) = delete;
    encoder& operator=(const encoder&) = delete;

    /// Takes of `in` what it can, and writes at most out.size() bytes, which is at least 16. Throws
    /// std::bad_alloc, or std::length_error if the length is not that given to reset() (zstd
    /// checks); then a reset() is due.
    [[nodiscard]] virtual result encode(std::string_view in, std::span<char> out, flush how) = 0;
    /// Begins anew, with nothing of what came before: cheaper than another encoder. `length`, if it
    /// is known, is exactly the length of what will come: small contents need less then. Throws
    /// std::bad_alloc.
    virtual void reset(std::optional<std::uint64_t> length = std::nullopt) = 0;
    /// Returns about how many bytes of memory it holds.
    [[nodiscard]] virtual std::size_t memory() const noexcept = 0;

    [[nodiscard]] format to() const noexcept { return to_; }

protected:
    explicit encoder(format to) noexcept : to_(to) {}

private:
    const format to_;
};

/// Makes an encoder. Throws std::invalid_argument for options out of range, or a format that this
/// build lacks; std::bad_alloc.
[[nodiscard]] std::unique_ptr<encoder> make_encoder(const encoder_options& options);

/// Encodes all of `content` at once, with an encoder that was reset(content.size()). Throws
/// std::bad_alloc.
[[nodiscard]] std::string encode_whole(encoder& with, std::string_view content);

} // namespace rota::coding
