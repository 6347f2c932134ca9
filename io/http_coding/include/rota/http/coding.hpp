#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <rota/coding/format.hpp>
#include <rota/http/handler.hpp>
#include <rota/http/router.hpp>

namespace rota::http {

/// Returns the types that are coded unless others are named: text (except streams of events), JSON,
/// XML, scripts, SVG, fonts that are not compressed themselves, WebAssembly.
[[nodiscard]] std::vector<std::string> default_coded_types();

/// Which answers are coded, and how.
struct coding_options {
    /// In the order of the server's preference, which decides between those that a client likes
    /// equally. gzip, br and zstd; what this build lacks is left out.
    std::vector<rota::coding::format> formats = {
        rota::coding::format::zstd, rota::coding::format::br, rota::coding::format::gzip};
    /// How hard each tries: see coding::encoder_options.
    int gzip_level = 0;
    int br_level = 0;
    int zstd_level = 0;
    /// Shorter contents are not coded.
    std::size_t bytes_min = 1'024;
    /// Media types without parameters: "text/html", "text/*", "*+json". With a '!' in front it is a
    /// type that is not coded. The first that matches counts.
    std::vector<std::string> types = default_coded_types();
    /// Whole contents, and pieces of streams, of this many bytes are compressed in blocking(),
    /// shorter ones on the worker: about half a millisecond.
    std::size_t blocking_bytes = 32'768;
    /// Larger files are sent as they are, by the shorter way for them, unless the client refuses
    /// that.
    std::uint64_t file_bytes_max = 1'048'576;
    /// About how much all encoders of streams together may hold. An answer for which there is no
    /// room is sent as it is.
    std::size_t memory_bytes_max = 268'435'456;
};

/// Returns middleware that compresses answers by zstd, br or gzip as the client asks for it (RFC
/// 9110 section 12.5.3), and sets the fields for that: Content-Encoding, Vary, a weak ETag. Without
/// Accept-Encoding, or with an empty one, answers are sent as they are.
///
/// Never coded: what has a Content-Encoding already, or `Cache-Control: no-transform`, or a
/// Content-Range; 204, 205, 206, 304; what is short (unless the client refuses what is not coded)
/// or of another type. `Vary: Accept-Encoding` stands in every answer that would be another for
/// another client, in 206 and 304, too. GET or HEAD of a client that takes neither the content as
/// it is nor a coding that it can have is answered with 406, by `page` if it is set: in place of
/// 200, 206, 304, and of what has response::stands_for(). Content that is streamed is flushed with
/// each piece that its producer writes; its length is not announced any more. Contents that are
/// string literals are compressed once on each worker.
///
/// If-Match and If-None-Match are the handler's: to a weak comparison (RFC 9110 section 8.8.3.2)
/// the ETag is the same.
///
/// Throws std::invalid_argument for options out of range.
[[nodiscard]] middleware coding(coding_options options = {}, error_page page = {});

} // namespace rota::http
