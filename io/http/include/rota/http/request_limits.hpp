#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include <rota/http/handler.hpp>
#include <rota/http/router.hpp>
#include <rota/time_span.hpp>

namespace rota::http {

struct concurrency_limit_options {
    std::size_t at_once = 64;                  ///< requests inside it, at least 1
    std::size_t waiting_max = 64;              ///< more of them are refused at once
    std::chrono::milliseconds patience{1'000}; ///< how long one may wait
    std::chrono::seconds retry_after{1};
};

/// Runs at most `at_once` requests at a time, of all clients; up to `waiting_max` more wait in
/// order, the others are answered with 503 and Retry-After, by `page` if it is set. A request
/// counts until its handler has answered; what a stream writes afterwards does not. A request
/// without content whose connection fails, or whose stream is reset, while it waits leaves its
/// place to others; one whose client has ended its sending side has its turn. Throws
/// std::invalid_argument for at_once 0 and for negative times.
[[nodiscard]] middleware concurrency_limit(concurrency_limit_options options = {},
                                           error_page page = {});

/// Cancels handlers that have not answered after `limit`: 503, or another `status` (504, where an
/// upstream is slow), by `page` if it is set. They are awaited, so a handler that does not heed its
/// stop token goes on, and a timed_out of its own that a handler lets pass counts, too. What a
/// stream writes is for server_limits. Throws std::invalid_argument for a limit that is not above
/// 0, and a status outside 400..599.
[[nodiscard]] middleware time_limit(time_span limit, int status = 503, error_page page = {});

/// Limits content to `bytes_max`, below the server's own limit: 413 as soon as more is announced or
/// has been read. Chunked content that the handler does not read is not counted.
[[nodiscard]] middleware body_limit(std::uint64_t bytes_max);

} // namespace rota::http
