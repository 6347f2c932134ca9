#include <rota/http/rate_limit.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <stdexcept>
#include <utility>

#include <rota/http/forwarded.hpp>
#include <rota/io/network.hpp>

#include "answers.hpp"

namespace rota::http {
namespace {

constexpr double ns_per_s = 1e9;

std::int64_t ns_of(double seconds) {
    // Not so much that sums could overflow. What is no number is refused later.
    const double ns = seconds * ns_per_s;
    return ns > 1 ? static_cast<std::int64_t>(std::min(ns, 1e17)) : 1;
}

std::uint64_t random_seed() {
    std::random_device device;
    return std::uint64_t{device()} << 32 | device();
}

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) noexcept {
    __extension__ using wide = unsigned __int128;
    const wide product = static_cast<wide>(a ^ 0x9e3779b97f4a7c15) * (b ^ 0xd1b54a32d192ed03);
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// Not 0. Keyed, so that nobody outside can tell which keys lie together.
std::uint64_t keyed_hash(std::string_view key, std::uint64_t seed) noexcept {
    std::uint64_t hash = mixed(seed, key.size() + 1);
    while (!key.empty()) {
        std::uint64_t word = 0;
        const std::size_t size = std::min<std::size_t>(key.size(), 8);
        std::memcpy(&word, key.data(), size);
        hash = mixed(hash ^ word, seed);
        key.remove_prefix(size);
    }
    return hash == 0 ? 1 : hash;
}

std::string usual_key(const request& req) {
    const std::string_view peer = peer_address(req.peer());
    const auto address = io::ip_address::parse(peer);
    if (!address || address->is_v4())
        return std::string(peer);
    // A client has a whole network of these (RFC 6177).
    return {reinterpret_cast<const char*>(address->bytes().data()), 8};
}

struct limiter {
    limiter(rate_limit_options from, error_page with)
        : buckets(from.per_second, from.burst, from.keys_max), key(std::move(from.key)),
          page(std::move(with)) {}
    token_buckets buckets;
    const std::function<std::string(const request&)> key;
    const error_page page;
};

task<response> refuse_for(const limiter* self, std::chrono::nanoseconds wait) {
    response made = error_answer(self->page ? &self->page : nullptr,
                                 http_error(429, "this client asks too often"));
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(wait).count();
    made.header("Retry-After", std::to_string(std::max<std::int64_t>(seconds, 1)));
    co_return std::move(made);
}

} // namespace

token_buckets::token_buckets(double per_second, double burst, std::size_t keys_max)
    : interval_ns_(ns_of(1 / per_second)), depth_ns_(ns_of(burst / per_second)),
      seed_(random_seed()), sets_((std::max(keys_max, ways) + ways - 1) / ways) {
    if (!(per_second > 0) || !(burst >= 1) || !std::isfinite(per_second) || !std::isfinite(burst))
        throw std::invalid_argument("a rate is above 0, and a burst at least 1");
}

token_buckets::decision token_buckets::take(std::string_view key, time_point now) {
    const std::uint64_t hash = keyed_hash(key, seed_);
    const std::size_t at = hash % sets_.size();
    const std::int64_t now_ns = now.time_since_epoch().count();
    const std::lock_guard lock(locks_[at % locks]);
    auto& set = sets_[at];
    auto found = std::ranges::find(set, hash, &entry::key);
    if (found == set.end()) {
        // One that has nothing to come back loses nothing; else the debt of the place goes with it.
        found = std::ranges::min_element(set, {}, &entry::empty_at);
        found->key = hash;
    }
    const std::int64_t after = std::max(found->empty_at, now_ns) + interval_ns_;
    const std::int64_t over = after - now_ns - std::max(depth_ns_, interval_ns_);
    if (over > 0)
        return {.allowed = false, .wait = std::chrono::nanoseconds(over)};
    found->empty_at = after;
    return {.allowed = true, .wait = {}};
}

middleware rate_limit(rate_limit_options options, error_page page) {
    if (!options.key)
        options.key = usual_key;
    auto self = std::make_shared<limiter>(std::move(options), std::move(page));
    return [self = std::move(self)](request& req, next proceed) {
        const std::string key = self->key(req);
        const auto got = self->buckets.take(key, std::chrono::steady_clock::now());
        return got.allowed ? proceed(req) : refuse_for(self.get(), got.wait);
    };
}

} // namespace rota::http
