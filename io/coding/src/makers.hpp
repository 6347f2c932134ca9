#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include <rota/coding/decoder.hpp>
#include <rota/coding/encoder.hpp>

namespace rota::coding {

// What makes the encoders and decoders of each library. Those of a library that this build lacks
// are not there: format.cpp says which are.

[[nodiscard]] std::unique_ptr<encoder> make_zlib_encoder(const encoder_options& options);
[[nodiscard]] std::unique_ptr<decoder> make_zlib_decoder(const decoder_options& options);
[[nodiscard]] std::unique_ptr<encoder> make_brotli_encoder(const encoder_options& options);
[[nodiscard]] std::unique_ptr<decoder> make_brotli_decoder(const decoder_options& options);
[[nodiscard]] std::unique_ptr<encoder> make_zstd_encoder(const encoder_options& options);
[[nodiscard]] std::unique_ptr<decoder> make_zstd_decoder(const decoder_options& options);

/// `value`, or `otherwise` if it is 0. Throws std::invalid_argument if it is not in the range.
[[nodiscard]] inline int checked_option(int value, int otherwise, int least, int most,
                                        const char* what) {
    if (value == 0)
        return otherwise;
    if (value < least || value > most) {
        throw std::invalid_argument(std::string(what) + " is " + std::to_string(least) + " to " +
                                    std::to_string(most) + ", or 0");
    }
    return value;
}

} // namespace rota::coding
