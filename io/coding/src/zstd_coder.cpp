// Zstandard.
#include <array>
#include <new>

#include <zstd.h>
#include <zstd_errors.h>

#include "makers.hpp"

namespace rota::coding {
namespace {

/// What an encoder fails for: memory, or another length than was said.
std::size_t succeed(std::size_t code) {
    if (!::ZSTD_isError(code))
        return code;
    if (::ZSTD_getErrorCode(code) == ZSTD_error_srcSize_wrong)
        throw std::length_error("a content that is not as long as was said");
    throw std::bad_alloc();
}

class zstd_encoder final : public encoder {
public:
    explicit zstd_encoder(const encoder_options& options)
        : encoder(options.to), context_(::ZSTD_createCCtx()) {
        const int level = checked_option(options.level, 3, 1, 19, "the level");
        const int window = checked_option(options.window_bits, 17, 10, 23, "the window");
        if (context_ == nullptr)
            throw std::bad_alloc();
        ::ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, level);
        ::ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_windowLog, window);
    }

    result encode(std::string_view in, std::span<char> out, flush how) override {
        static constexpr std::array words{ZSTD_e_continue, ZSTD_e_flush, ZSTD_e_end};
        ::ZSTD_inBuffer from{in.data(), in.size(), 0};
        ::ZSTD_outBuffer to{out.data(), out.size(), 0};
        const std::size_t left = succeed(::ZSTD_compressStream2(
            context_.get(), &to, &from, words[static_cast<std::size_t>(how)]));
        const bool taken = from.pos == from.size;
        return {from.pos, to.pos, taken && (how == flush::none || left == 0)};
    }

    void reset(std::optional<std::uint64_t> length) override {
        ::ZSTD_CCtx_reset(context_.get(), ZSTD_reset_session_only);
        if (length)
            succeed(::ZSTD_CCtx_setPledgedSrcSize(context_.get(), *length));
    }

    [[nodiscard]] std::size_t memory() const noexcept override {
        return ::ZSTD_sizeof_CCtx(context_.get());
    }

private:
    struct release {
        void operator()(::ZSTD_CCtx* context) const noexcept { ::ZSTD_freeCCtx(context); }
    };
    std::unique_ptr<::ZSTD_CCtx, release> context_;
};

using header_bytes = std::array<char, 18>;
constexpr std::size_t prefix_size = 5;

/// How long the header of a frame is that begins so (RFC 8878 sections 3.1.1.1 and 3.1.2); 0 if
/// none does.
std::size_t size_of_header(const header_bytes& prefix) {
    const auto byte = [&prefix](std::size_t i) { return static_cast<unsigned char>(prefix[i]); };
    const std::uint32_t magic =
        byte(0) | byte(1) << 8U | byte(2) << 16U | static_cast<std::uint32_t>(byte(3)) << 24U;
    if ((magic & 0xffff'fff0U) == 0x184d'2a50U)
        return 8; // to be skipped: its size follows
    if (magic != 0xfd2f'b528U)
        return 0;
    static constexpr std::array<std::size_t, 4> dictionary_sizes{0, 1, 2, 4};
    static constexpr std::array<std::size_t, 4> length_sizes{0, 2, 4, 8};
    const unsigned descriptor = byte(4);
    const bool single_segment = (descriptor & 0x20U) != 0;
    const std::size_t window_size = single_segment ? 0 : 1;
    std::size_t length_size = length_sizes[descriptor >> 6U];
    if (length_size == 0 && single_segment)
        length_size = 1;
    return prefix_size + window_size + dictionary_sizes[descriptor & 3U] + length_size;
}

class zstd_decoder final : public decoder {
public:
    explicit zstd_decoder(const decoder_options& options)
        : decoder(options.from), context_(::ZSTD_createDCtx()) {
        const int window = checked_option(options.window_bits, 23, 10, 27, "the window");
        if (context_ == nullptr)
            throw std::bad_alloc();
        ::ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, window);
    }

    result decode(std::string_view in, std::span<char> out) override {
        if (header_size_ == wanted_)
            return decode_checked(in, out);
        result step;
        while (header_size_ < wanted_ && step.read < in.size()) {
            header_[header_size_++] = in[step.read++];
            if (header_size_ == prefix_size)
                wanted_ = size_of_header(header_);
            if (wanted_ == 0) {
                step.now = state::corrupt;
                return step;
            }
        }
        if (header_size_ == wanted_)
            step.now = decode_checked({header_.data(), header_size_}, out).now;
        return step;
    }

    void reset() override {
        ::ZSTD_DCtx_reset(context_.get(), ZSTD_reset_session_only);
        header_size_ = 0;
        wanted_ = prefix_size;
        written_ = 0;
    }

    [[nodiscard]] std::size_t memory() const noexcept override {
        return ::ZSTD_sizeof_DCtx(context_.get());
    }

private:
    result decode_checked(std::string_view in, std::span<char> out) {
        ::ZSTD_inBuffer from{in.data(), in.size(), 0};
        ::ZSTD_outBuffer to{out.data(), out.size(), 0};
        const std::size_t code = ::ZSTD_decompressStream(context_.get(), &to, &from);
        result step{from.pos, to.pos};
        written_ += to.pos;
        if (::ZSTD_isError(code))
            step.now = fail(code);
        else if (code == 0)
            step.now = has_its_length() ? state::ended : state::corrupt;
        return step;
    }

    /// Whether the frame has ended where its header says, if that does: behind a last block that
    /// is empty the library does not look.
    [[nodiscard]] bool has_its_length() const noexcept {
        const unsigned long long length = ::ZSTD_getFrameContentSize(header_.data(), header_size_);
        return length == ZSTD_CONTENTSIZE_UNKNOWN || length == written_;
    }

    static state fail(std::size_t code) {
        if (::ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation)
            throw std::bad_alloc();
        return state::corrupt;
    }

    struct release {
        void operator()(::ZSTD_DCtx* context) const noexcept { ::ZSTD_freeDCtx(context); }
    };
    std::unique_ptr<::ZSTD_DCtx, release> context_;
    // The library gets the header of a frame by itself. Else it also takes frames of the formats
    // before RFC 8878, if it was built so, and any window of a frame that it sees as a whole.
    header_bytes header_{};
    std::size_t header_size_ = 0;
    std::size_t wanted_ = prefix_size; // of the header; what tells how long it is, at first
    std::uint64_t written_ = 0;        // of the frame
};

} // namespace

std::unique_ptr<encoder> make_zstd_encoder(const encoder_options& options) {
    return std::make_unique<zstd_encoder>(options);
}

std::unique_ptr<decoder> make_zstd_decoder(const decoder_options& options) {
    return std::make_unique<zstd_decoder>(options);
}

} // namespace rota::coding
