#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <rota/http/headers.hpp>
#include <rota/http/response.hpp>

namespace rota::http {

/// What a response answers, as far as its framing depends on it.
struct answer_terms {
    std::uint8_t minor = 1; // of the request's version
    bool head_only = false; // the request was HEAD
    bool keep_alive = true; // the connection goes on behind this answer
};

/// How the content follows the head.
enum class content_framing : std::uint8_t {
    none,        // nothing follows
    sized,       // as many bytes as Content-Length says
    chunked,     // chunks
    until_close, // bytes up to the end of the connection, which therefore does not go on
};

[[nodiscard]] content_framing choose_framing(const response& answer,
                                             const answer_terms& with) noexcept;

/// Whether content follows at all: not for HEAD, and not where the framing has none.
[[nodiscard]] bool sends_content(const response& answer, const answer_terms& with,
                                 content_framing framing) noexcept;

/// Appends the status line and the header section with its empty line (RFC 9112 sections 4 to 6),
/// and `content` behind it. `framing` is what choose_framing() said. Whether the connection goes on
/// is `with.keep_alive`; until_close makes it end.
void append_head(std::string& out, const response& answer, const answer_terms& with,
                 content_framing framing, std::string_view content = {});

/// Appends the head behind which the connection is another protocol's: a status line, the fields
/// and the empty line, nothing of framing.
void append_takeover_head(std::string& out, const response& answer);

} // namespace rota::http
