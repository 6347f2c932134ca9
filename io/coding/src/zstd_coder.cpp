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
        ::ZSTD_inBuffer from{in.data(), in.size(), 0};
        ::ZSTD_outBuffer to{out.data(), out.size(), 0};
        const std::size_t code = ::ZSTD_decompressStream(context_.get(), &to, &from);
        result step{from.pos, to.pos};
        if (::ZSTD_isError(code))
            step.now = fail(code);
        else if (code == 0)
            step.now = state::ended;
        return step;
    }

    void reset() override { ::ZSTD_DCtx_reset(context_.get(), ZSTD_reset_session_only); }

    [[nodiscard]] std::size_t memory() const noexcept override {
        return ::ZSTD_sizeof_DCtx(context_.get());
    }

private:
    static state fail(std::size_t code) {
        if (::ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation)
            throw std::bad_alloc();
        return state::corrupt;
    }

    struct release {
        void operator()(::ZSTD_DCtx* context) const noexcept { ::ZSTD_freeDCtx(context); }
    };
    std::unique_ptr<::ZSTD_DCtx, release> context_;
};

} // namespace

std::unique_ptr<encoder> make_zstd_encoder(const encoder_options& options) {
    return std::make_unique<zstd_encoder>(options);
}

std::unique_ptr<decoder> make_zstd_decoder(const decoder_options& options) {
    return std::make_unique<zstd_decoder>(options);
}

} // namespace rota::coding
