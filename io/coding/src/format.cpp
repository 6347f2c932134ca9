#include <rota/coding/format.hpp>

#include <array>
#include <string>

#include "makers.hpp"

// What meson.build has found, as 1 or 0.
#ifndef ROTA_HAS_ZLIB
#error "ROTA_HAS_ZLIB, ROTA_HAS_BROTLI and ROTA_HAS_ZSTD are defined by the build"
#endif

namespace rota::coding {
namespace {

struct makers {
    std::unique_ptr<encoder> (*make_encoder)(const encoder_options&) = nullptr;
    std::unique_ptr<decoder> (*make_decoder)(const decoder_options&) = nullptr;
};

constexpr makers of_zlib() noexcept {
#if ROTA_HAS_ZLIB
    return {make_zlib_encoder, make_zlib_decoder};
#else
    return {};
#endif
}

constexpr makers of_brotli() noexcept {
#if ROTA_HAS_BROTLI
    return {make_brotli_encoder, make_brotli_decoder};
#else
    return {};
#endif
}

constexpr makers of_zstd() noexcept {
#if ROTA_HAS_ZSTD
    return {make_zstd_encoder, make_zstd_decoder};
#else
    return {};
#endif
}

constexpr makers makers_of(format which) noexcept {
    switch (which) {
    case format::gzip:
    case format::zlib:
    case format::deflate:
        return of_zlib();
    case format::br:
        return of_brotli();
    case format::zstd:
        return of_zstd();
    }
    return {};
}

/// Throws std::invalid_argument if there are none.
makers available_makers(format which) {
    const makers found = makers_of(which);
    if (found.make_encoder == nullptr)
        throw std::invalid_argument(std::string(to_string(which)) + " is not in this build");
    return found;
}

} // namespace

bool is_available(format which) noexcept { return makers_of(which).make_encoder != nullptr; }

std::string_view to_string(format which) noexcept {
    static constexpr std::array<std::string_view, format_count> names{"gzip", "zlib", "deflate",
                                                                      "br", "zstd"};
    return names[static_cast<std::size_t>(which)];
}

std::unique_ptr<encoder> make_encoder(const encoder_options& options) {
    return available_makers(options.to).make_encoder(options);
}

std::unique_ptr<decoder> make_decoder(const decoder_options& options) {
    return available_makers(options.from).make_decoder(options);
}

} // namespace rota::coding
