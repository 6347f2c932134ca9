// Brotli. Its states cannot begin anew: another is made, of the memory of the one before.
#include <algorithm>
#include <array>
#include <bit>
#include <csetjmp>
#include <new>

#include <brotli/decode.h>
#include <brotli/encode.h>

#include "kept_memory.hpp"
#include "makers.hpp"

namespace rota::coding {
namespace {

/// Enough for the tables of an encoder at the default level; a decoder keeps its small blocks.
constexpr std::size_t encoder_kept_max = 2'097'152;
constexpr std::size_t decoder_kept_max = 262'144;

const std::uint8_t* bytes_of(std::string_view text) noexcept {
    return reinterpret_cast<const std::uint8_t*>(text.data());
}

class brotli_encoder final : public encoder {
public:
    explicit brotli_encoder(const encoder_options& options)
        : encoder(options.to), level_(checked_option(options.level, 4, 1, 11, "the level")),
          window_bits_(checked_option(options.window_bits, 18, 10, 24, "the window")) {
        begin(std::nullopt);
    }
    ~brotli_encoder() override { ::BrotliEncoderDestroyInstance(state_); }

    result encode(std::string_view in, std::span<char> out, flush how) override {
        if (state_ == nullptr)
            throw std::bad_alloc(); // it has failed before
        static constexpr std::array words{BROTLI_OPERATION_PROCESS, BROTLI_OPERATION_FLUSH,
                                          BROTLI_OPERATION_FINISH};
        const std::uint8_t* next_in = bytes_of(in);
        std::size_t in_left = in.size();
        auto* next_out = reinterpret_cast<std::uint8_t*>(out.data());
        std::size_t out_left = out.size();
        // For want of memory the library would end the process (its BROTLI_ENCODER_EXIT_ON_OOM).
        std::jmp_buf way_out;
        memory_.leave_to(&way_out);
        if (setjmp(way_out) != 0) { // NOLINT(cert-err52-cpp): past frames of C alone
            state_ = nullptr;
            memory_.free_taken();
            throw std::bad_alloc();
        }
        const bool ok =
            ::BrotliEncoderCompressStream(state_, words[static_cast<std::size_t>(how)], &in_left,
                                          &next_in, &out_left, &next_out, nullptr) != 0;
        memory_.leave_to(nullptr);
        if (!ok)
            throw std::bad_alloc(); // nothing else goes wrong in the order that encode() has
        result step{in.size() - in_left, out.size() - out_left};
        if (how == flush::end)
            step.done = ::BrotliEncoderIsFinished(state_) != 0;
        else
            step.done = in_left == 0 && !::BrotliEncoderHasMoreOutput(state_);
        return step;
    }

    void reset(std::optional<std::uint64_t> length) override {
        ::BrotliEncoderDestroyInstance(state_);
        state_ = nullptr;
        begin(length);
    }

    [[nodiscard]] std::size_t memory() const noexcept override { return memory_.bytes(); }

private:
    void begin(std::optional<std::uint64_t> length) {
        state_ = ::BrotliEncoderCreateInstance(kept_memory::take_from, kept_memory::give_back_to,
                                               &memory_);
        if (state_ == nullptr)
            throw std::bad_alloc();
        int bits = window_bits_;
        if (length) { // a window need not be larger than what there is
            const auto needed = std::bit_width(*length);
            bits = std::clamp(static_cast<int>(needed), BROTLI_MIN_WINDOW_BITS, bits);
            constexpr std::uint64_t hint_max = 1U << 30;
            set(BROTLI_PARAM_SIZE_HINT, static_cast<std::uint32_t>(std::min(*length, hint_max)));
        }
        set(BROTLI_PARAM_QUALITY, static_cast<std::uint32_t>(level_));
        set(BROTLI_PARAM_LGWIN, static_cast<std::uint32_t>(bits));
    }
    void set(::BrotliEncoderParameter what, std::uint32_t value) noexcept {
        ::BrotliEncoderSetParameter(state_, what, value);
    }

    kept_memory memory_{encoder_kept_max};
    ::BrotliEncoderState* state_ = nullptr;
    const int level_;
    const int window_bits_;
};

class brotli_decoder final : public decoder {
public:
    explicit brotli_decoder(const decoder_options& options) : decoder(options.from) { begin(); }
    ~brotli_decoder() override { ::BrotliDecoderDestroyInstance(state_); }

    result decode(std::string_view in, std::span<char> out) override {
        if (state_ == nullptr)
            throw std::bad_alloc(); // reset() has failed
        if (!may_take_long()) {
            std::size_t size = out.size();
            const std::uint8_t* const made = ::BrotliDecoderTakeOutput(state_, &size);
            std::copy_n(made, size, out.data());
            return {0, size};
        }
        const std::uint8_t* next_in = bytes_of(in);
        std::size_t in_left = in.size();
        auto* next_out = reinterpret_cast<std::uint8_t*>(out.data());
        std::size_t out_left = out.size();
        const auto status = ::BrotliDecoderDecompressStream(state_, &in_left, &next_in, &out_left,
                                                            &next_out, nullptr);
        result step{in.size() - in_left, out.size() - out_left};
        if (status == BROTLI_DECODER_RESULT_SUCCESS)
            step.now = state::ended;
        else if (status == BROTLI_DECODER_RESULT_ERROR)
            step.now = fail();
        return step;
    }

    /// The library fills its window before it gives any of it; what is there is only copied.
    [[nodiscard]] bool may_take_long() const noexcept override {
        return state_ == nullptr || ::BrotliDecoderHasMoreOutput(state_) == BROTLI_FALSE;
    }

    void reset() override {
        ::BrotliDecoderDestroyInstance(state_);
        state_ = nullptr;
        begin();
    }

    [[nodiscard]] std::size_t memory() const noexcept override { return memory_.bytes(); }

private:
    void begin() {
        state_ = ::BrotliDecoderCreateInstance(kept_memory::take_from, kept_memory::give_back_to,
                                               &memory_);
        if (state_ == nullptr)
            throw std::bad_alloc();
    }

    [[nodiscard]] state fail() const {
        const int code = ::BrotliDecoderGetErrorCode(state_);
        // Those of the format are from -1 to -16; those of memory follow behind -20.
        if (code <= BROTLI_DECODER_ERROR_ALLOC_CONTEXT_MODES &&
            code >= BROTLI_DECODER_ERROR_ALLOC_BLOCK_TYPE_TREES) {
            throw std::bad_alloc();
        }
        return state::corrupt;
    }

    kept_memory memory_{decoder_kept_max};
    ::BrotliDecoderState* state_ = nullptr;
};

} // namespace

std::unique_ptr<encoder> make_brotli_encoder(const encoder_options& options) {
    return std::make_unique<brotli_encoder>(options);
}

std::unique_ptr<decoder> make_brotli_decoder(const decoder_options& options) {
    return std::make_unique<brotli_decoder>(options);
}

} // namespace rota::coding
