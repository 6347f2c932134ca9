#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <rota/http/error.hpp>
#include <rota/http/headers.hpp>
#include <rota/http/limits.hpp>
#include <rota/http/request_head.hpp>

namespace rota::http {

// Chunked transfer coding (RFC 9112 section 7.1), for proxies and clients.

/// Appends "<size>\r\n"; the data and "\r\n" follow.
void append_chunk_size(std::string& out, std::size_t size);
/// Appends a whole chunk; an empty one, which would be the end, appends nothing.
void append_chunk(std::string& out, std::string_view data);
/// Appends the last chunk, the trailer fields and the end of the message.
void append_last_chunk(std::string& out, const headers& trailers);

/// Takes chunked content apart, as strictly as the server does, which has this very reader: bytes
/// in, "need more / a piece / the end" out, however the bytes were cut. For one message; used by
/// one thread at a time.
class chunked_decoder {
public:
    enum class event : std::uint8_t {
        need_more, ///< everything given was taken
        piece,     ///< piece() is there: a view of what was given
        complete,  ///< the end; nothing after it was taken
    };
    struct result {
        event what;
        std::size_t consumed; ///< of the bytes given
    };

    /// Uses those of `limits` that are about chunks, trailers and content.
    explicit chunked_decoder(const parser_limits& limits = {});
    chunked_decoder(chunked_decoder&&) noexcept;
    chunked_decoder& operator=(chunked_decoder&&) noexcept;
    ~chunked_decoder();

    /// Takes bytes that follow those taken before. Throws http_error for what is malformed (400),
    /// too large (413) or has too many trailers (431), and then in every call.
    [[nodiscard]] result feed(std::string_view bytes);
    [[nodiscard]] std::string_view piece() const noexcept;
    [[nodiscard]] bool complete() const noexcept;
    /// Returns the trailer fields; empty before the end. Those that must not stand in trailers (RFC
    /// 9110 section 6.5.1) are left out.
    [[nodiscard]] header_list trailers() const noexcept;

private:
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace rota::http
