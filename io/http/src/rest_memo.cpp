#include <rota/http/detail/rest_memo.hpp>

#include <algorithm>

namespace rota::http {

// The count of requests; and from the top 40 bits of the time, in milliseconds, 8 of the count of
// empty lines, 16 of the bytes sent.
io::rest_memo memo_of(const session_rest& rest) noexcept {
    using std::chrono::milliseconds;
    const auto until = std::chrono::floor<milliseconds>(rest.until.time_since_epoch()).count();
    const std::uint64_t lines = std::min<std::uint64_t>(rest.empty_lines, 0xff);
    const std::uint64_t bytes = std::min<std::uint64_t>(rest.bytes_sent, 0xffff);
    return {rest.requests, static_cast<std::uint64_t>(until) << 24 | lines << 16 | bytes};
}

session_rest rest_of(io::rest_memo memo) noexcept {
    const auto until = std::chrono::milliseconds(memo[1] >> 24);
    return {.wanted = true,
            .until = std::chrono::steady_clock::time_point(until),
            .requests = memo[0],
            .bytes_sent = memo[1] & 0xffff,
            .empty_lines = memo[1] >> 16 & 0xff};
}

} // namespace rota::http
