#pragma once

#include <cstddef>
#include <cstdint>

#include <rota/http/handler.hpp>
#include <rota/http/router.hpp>

namespace rota::http {

/// How much is decoded.
struct decoding_options {
    /// Content after decoding; more is 413. What a handler, or middleware outside or inside this,
    /// allows (body_reader::limit(), body_limit()) may be less.
    std::uint64_t bytes_max = 1'048'576;
    /// Codings in a row; more are 415.
    std::size_t codings_max = 3;
    /// About how much all decoders together may hold beyond 64 KiB each: a window is up to 8 MiB
    /// (zstd), or 16 MiB (br). A request for which there is no room is answered with 503.
    std::size_t memory_bytes_max = 134'217'728;
};

/// Returns middleware that removes Content-Encoding from requests: what the handlers within it read
/// from request::body(), text(), json() is decoded. Its length is not known beforehand; the fields
/// of the request are as they came. gzip (and x-gzip), br and zstd, as far as this build has them.
///
/// Decodes as the handler reads, in memory that is bounded. Reading throws http_error: 400 for what
/// is broken, cut short or has something after its end, 413 for more than is allowed, 503 for want
/// of memory. Another coding, or too many, is 415 with Accept-Encoding, by `page` if it is set,
/// before the handler is called.
[[nodiscard]] middleware decoding(decoding_options options = {}, error_page page = {});

} // namespace rota::http
