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
/// Up to `keys_max` keys at a time have a bucket of their own: the table has twice as many places,
/// and each key may lie in either of two sets of 8, the one with more room. A key whose bucket is
/// full again needs no place. Beyond that a new key takes the place of the one that has used least,
/// and what that has used counts as its own: so they share buckets, and no client gains more by
/// coming under many names than the places hold. Where a key lies is secret.
class token_buckets {
public:
    using time_point = std::chrono::steady_clock::time_point;

    static constexpr std::size_t keys_max_max = std::size_t{1} << 26; ///< 2 GiB of them
    static constexpr double refill_s_max = 1e8;                       ///< three years

    /// Allows `burst` at once, at least 1, then `per_second` a second, above 0; a token takes a
    /// whole number of nanoseconds to come back, and all of a burst at most refill_s_max.
    /// `keys_max` is from 1 to keys_max_max; memory is 32 bytes a key, at least 2 KiB. Throws
    /// std::invalid_argument.
    token_buckets(double per_second, double burst, std::size_t keys_max);

    struct decision {
        bool allowed;
        std::chrono::nanoseconds wait; ///< until it would be allowed
    };
    /// Takes a token, if there is one.
    decision take(std::string_view key, time_point now);

private:
    friend struct seeded_buckets; // of the tests
    token_buckets(double per_second, double burst, std::size_t keys_max, std::uint64_t seed);

    struct entry {
        std::uint64_t key = 0;     // 0: free
        std::int64_t empty_at = 0; // when what was used will have come back, in ns
    };
    static constexpr std::size_t ways = 8;
    static constexpr std::size_t parts_max = 64;
    using set = std::array<entry, ways>;

    entry& place_of(std::uint64_t hash, std::size_t part, std::int64_t now_ns) noexcept;

    const std::int64_t interval_ns_; // of a token
    const std::int64_t depth_ns_;    // of a whole bucket
    const std::uint64_t seed_;
    const std::size_t parts_;     // with a lock each; both sets of a key are of one part
    const std::size_t part_sets_; // of each
    std::vector<set> sets_;
    std::array<std::mutex, parts_max> locks_;
};

struct rate_limit_options {
    double per_second = 10;
    double burst = 20;             ///< at once
    std::size_t keys_max = 65'536; ///< with a bucket of their own: see token_buckets
    /// Returns the key by which requests count together; by default that of an IPv4 address or an
    /// IPv6 network of 64 bits, by request::peer(). Must not wait.
    std::function<std::string(const request&)> key{};
};

/// Answers 429 with Retry-After (RFC 6585 section 4) to requests beyond the rate, made by `page` if
/// it is set. A refusal costs no more than saying so. Throws std::invalid_argument as token_buckets
/// does.
[[nodiscard]] middleware rate_limit(rate_limit_options options = {}, error_page page = {});

} // namespace rota::http
