#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <rota/http/handler.hpp>
#include <rota/http/router.hpp>

namespace rota::http {

/// A token bucket for each key, in a table whose size never changes. Any thread.
///
/// Where there is no room for another key, it takes the place of the one that has used least, and
/// what that has used counts as its own: so with more keys than there is room for they share
/// buckets, and no client gains by coming under many names. Where a key lies is secret.
class token_buckets {
public:
    using time_point = std::chrono::steady_clock::time_point;

    /// `burst` at once, then so many a second; both above 0. Memory is 16 bytes a key. Throws
    /// std::invalid_argument.
    token_buckets(double per_second, double burst, std::size_t keys_max);

    struct decision {
        bool allowed;
        std::chrono::nanoseconds wait; ///< until it would be
    };
    /// Takes a token, if there is one.
    decision take(std::string_view key, time_point now);

private:
    struct entry {
        std::uint64_t key = 0;     // 0: free
        std::int64_t empty_at = 0; // when what was used will have come back, in ns
    };
    static constexpr std::size_t ways = 8;
    static constexpr std::size_t locks = 64;

    const std::int64_t interval_ns_; // of a token
    const std::int64_t depth_ns_;    // of a whole bucket
    const std::uint64_t seed_;
    std::vector<std::array<entry, ways>> sets_;
    std::array<std::mutex, locks> locks_; // of sets, in turn
};

struct rate_limit_options {
    double per_second = 10;
    double burst = 20; ///< at once
    std::size_t keys_max = 65'536;
    /// Whose requests count together; by default those of an IPv4 address or an IPv6 network of 64
    /// bits, by request::peer(). Must not wait.
    std::function<std::string(const request&)> key{};
};

/// 429 with Retry-After (RFC 6585 section 4) for requests beyond the rate, made by `page` if it is
/// set. What it refuses costs no more than to say so.
[[nodiscard]] middleware rate_limit(rate_limit_options options = {}, error_page page = {});

} // namespace rota::http
