// gzip, zlib and deflate by zlib, or zlib-ng where it takes zlib's place (zlib.h).
#include <array>
#include <limits>
#include <new>
#include <utility>

#define ZLIB_CONST
#include <zlib.h>

#include "makers.hpp"

namespace rota::coding {
namespace {

/// As zlib wants it: the sign and the sum say what stands around deflate.
int window_bits_of(format which, int bits) noexcept {
    if (which == format::deflate)
        return -bits;
    return which == format::gzip ? bits + 16 : bits;
}

/// 9 for 8: zlib does not write into a window of 256 bytes, but into one of 512, of which it says
/// so in format zlib (elsewhere nothing does; it refers to the last 250 only, as it keeps 262
/// free).
int window_of(int asked) {
    const int bits = checked_option(asked, 15, 8, 15, "the window");
    return bits == 8 ? 9 : bits;
}

/// Not more than zlib counts.
uInt clamped(std::size_t size) noexcept {
    constexpr std::size_t most = std::numeric_limits<uInt>::max();
    return static_cast<uInt>(size < most ? size : most);
}

void point(z_stream& z, std::string_view in, std::span<char> out) noexcept {
    z.next_in = reinterpret_cast<const Bytef*>(in.data());
    z.avail_in = clamped(in.size());
    z.next_out = reinterpret_cast<Bytef*>(out.data());
    z.avail_out = clamped(out.size());
}

class zlib_encoder final : public encoder {
public:
    explicit zlib_encoder(const encoder_options& options)
        : encoder(options.to), window_bits_(window_of(options.window_bits)),
          memory_level_(checked_option(options.memory_level, 8, 1, 9, "the memory level")) {
        const int level = checked_option(options.level, 6, 1, 9, "the level");
        const int status =
            ::deflateInit2(&z_, level, Z_DEFLATED, window_bits_of(options.to, window_bits_),
                           memory_level_, Z_DEFAULT_STRATEGY);
        if (status != Z_OK)
            throw std::bad_alloc(); // the options have been checked
    }
    ~zlib_encoder() override { ::deflateEnd(&z_); }

    result encode(std::string_view in, std::span<char> out, flush how) override {
        point(z_, in, out);
        const bool last_of_input = z_.avail_in == in.size();
        static constexpr std::array<int, 3> words{Z_NO_FLUSH, Z_SYNC_FLUSH, Z_FINISH};
        const int word = last_of_input ? words[static_cast<std::size_t>(how)] : Z_NO_FLUSH;
        const int status = ::deflate(&z_, word);
        result step{clamped(in.size()) - z_.avail_in, clamped(out.size()) - z_.avail_out};
        const bool taken = step.read == in.size();
        if (how == flush::end)
            step.done = status == Z_STREAM_END;
        else // a full output may hide that there is more
            step.done = taken && (how == flush::none || z_.avail_out > 0);
        return step;
    }

    void reset(std::optional<std::uint64_t>) override { ::deflateReset(&z_); }

    [[nodiscard]] std::size_t memory() const noexcept override {
        constexpr std::size_t fixed = 6'144; // zconf.h: the window and the search, and a little
        return (std::size_t{1} << (window_bits_ + 2)) + (std::size_t{1} << (memory_level_ + 9)) +
               fixed;
    }

private:
    z_stream z_{};
    const int window_bits_;
    const int memory_level_;
};

class zlib_decoder final : public decoder {
public:
    explicit zlib_decoder(const decoder_options& options)
        : decoder(options.from), window_bits_(window_of(options.window_bits)) {
        if (::inflateInit2(&z_, window_bits_of(options.from, window_bits_)) != Z_OK)
            throw std::bad_alloc(); // the options have been checked
    }
    ~zlib_decoder() override { ::inflateEnd(&z_); }

    result decode(std::string_view in, std::span<char> out) override {
        point(z_, in, out);
        const int status = ::inflate(&z_, Z_NO_FLUSH);
        result step{clamped(in.size()) - z_.avail_in, clamped(out.size()) - z_.avail_out};
        if (status == Z_MEM_ERROR)
            throw std::bad_alloc();
        if (step.read != 0 || step.written != 0) // else zlib does not say it again
            between_blocks_ = is_between_blocks();
        if (status == Z_STREAM_END)
            step.now = state::ended;
        else if (status != Z_OK && status != Z_BUF_ERROR) // that one is for want of input or room
            step.now = state::corrupt;
        return step;
    }

    void reset() override {
        ::inflateReset(&z_);
        between_blocks_ = true;
    }

    void reset_keeping_window() override {
        if (from() != format::deflate)
            return reset();
        const std::string kept = window();
        reset();
        set_window(kept);
    }

    [[nodiscard]] bool between_blocks() const noexcept override {
        return from() == format::deflate && between_blocks_;
    }

    [[nodiscard]] std::string window() const override {
        std::string kept;
        if (from() != format::deflate)
            return kept;
        std::array<char, std::size_t{1} << MAX_WBITS> bytes; // NOLINT(*-member-init): zlib writes
        uInt size = 0;
        ::inflateGetDictionary(&z_, reinterpret_cast<Bytef*>(bytes.data()), &size);
        kept.assign(bytes.data(), size);
        return kept;
    }
    void set_window(std::string_view of_another) override {
        if (from() != format::deflate || of_another.empty())
            return;
        if (::inflateSetDictionary(&z_, reinterpret_cast<const Bytef*>(of_another.data()),
                                   clamped(of_another.size())) != Z_OK)
            throw std::bad_alloc();
    }

    [[nodiscard]] std::size_t memory() const noexcept override {
        constexpr std::size_t fixed = 9'216;
        return (std::size_t{1} << window_bits_) + fixed;
    }

private:
    /// zlib.h, inflate(): the low bits of data_type count those of the last byte that are unread.
    [[nodiscard]] bool is_between_blocks() const noexcept {
        constexpr int unread_bits = 0x3f;
        constexpr int behind_a_block = 0x80;
        return (z_.data_type & behind_a_block) != 0 && (z_.data_type & unread_bits) == 0;
    }

    mutable z_stream z_{}; // zlib reads it, and says not that it does no more
    bool between_blocks_ = true;
    const int window_bits_;
};

} // namespace

std::unique_ptr<encoder> make_zlib_encoder(const encoder_options& options) {
    return std::make_unique<zlib_encoder>(options);
}

std::unique_ptr<decoder> make_zlib_decoder(const decoder_options& options) {
    return std::make_unique<zlib_decoder>(options);
}

} // namespace rota::coding
