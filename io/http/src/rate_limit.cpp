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
/// So that few keys, too, hardly ever fill both sets of another.
constexpr std::size_t sets_min = 16;

std::int64_t ns_of(double seconds) {
    // Not so much that sums could overflow.
    if (!(seconds <= token_buckets::refill_s_max))
        throw std::invalid_argument("a bucket has to be full again within 100,000,000 s");
    return std::max<std::int64_t>(std::llround(seconds * ns_per_s), 1);
}

double checked_rate(double per_second, double burst) {
    if (!(per_second > 0) || !(burst >= 1) || !std::isfinite(per_second) || !std::isfinite(burst))
        throw std::invalid_argument("a rate is above 0, and a burst at least 1");
    return per_second;
}

std::size_t checked_keys(std::size_t keys_max) {
    if (keys_max == 0 || keys_max > token_buckets::keys_max_max)
        throw std::invalid_argument("buckets are for 1 to 67,108,864 keys");
    return keys_max;
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
    // Products alone are no good: for some seeds keys that differ by little have sets in common.
    hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccd;
    hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53;
    hash ^= hash >> 33;
    return hash == 0 ? 1 : hash;
}

std::string usual_key(const request& req) {
    const std::string_view peer = peer_address(req.peer());
    const auto address = io::ip_address::parse(peer);
    if (!address || address->is_v4())
        return std::string(peer);
    // A client has a whole network of these (RFC 6177). No text begins as this does.
    return std::string(1, '\6').append(reinterpret_cast<const char*>(address->bytes().data()), 8);
}

struct limiter {
    limiter(rate_limit_options from, error_page with)
        : buckets(from.per_second, from.burst, from.keys_max), key(std::move(from.key)),
          page(std::move(with)) {}
    token_buckets buckets;
    const std::function<std::string(const request&)> key;
    const error_page page;
};

response refuse_for(const limiter& self, std::chrono::nanoseconds wait) {
    response made = error_answer(self.page ? &self.page : nullptr,
                                 http_error(429, "this client asks too often"));
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(wait).count();
    made.header("Retry-After", std::to_string(std::max<std::int64_t>(seconds, 1)));
    return made;
}

} // namespace

token_buckets::token_buckets(double per_second, double burst, std::size_t keys_max)
    : token_buckets(per_second, burst, keys_max, random_seed()) {}

token_buckets::token_buckets(double per_second, double burst, std::size_t keys_max,
                             std::uint64_t seed)
    : interval_ns_(ns_of(1 / checked_rate(per_second, burst))),
      depth_ns_(ns_of(burst * static_cast<double>(interval_ns_) / ns_per_s)), seed_(seed),
      parts_(std::clamp<std::size_t>(checked_keys(keys_max) / 256, 1, parts_max)),
      part_sets_(std::max((2 * keys_max + ways * parts_ - 1) / (ways * parts_), sets_min)),
      sets_(parts_ * part_sets_) {}

/// Where a key of that hash lies, or is to: of its two sets in the one with more room. Under the
/// lock of its part.
token_buckets::entry& token_buckets::place_of(std::uint64_t hash, std::size_t part,
                                              std::int64_t now_ns) noexcept {
    set& one = sets_[part * part_sets_ + (hash >> 16) % part_sets_];
    set& other = sets_[part * part_sets_ + (hash >> 40) % part_sets_];
    for (set* const each : {&one, &other}) {
        const auto found = std::ranges::find(*each, hash, &entry::key);
        if (found != each->end())
            return *found;
    }
    const auto free = [now_ns](const entry& e) { return e.empty_at <= now_ns; };
    set& into =
        std::ranges::count_if(one, free) >= std::ranges::count_if(other, free) ? one : other;
    // One that has nothing to come back loses nothing; else the debt of the place goes with it.
    entry& taken = *std::ranges::min_element(into, {}, &entry::empty_at);
    taken.key = hash;
    return taken;
}

token_buckets::decision token_buckets::take(std::string_view key, time_point now) {
    const std::uint64_t hash = keyed_hash(key, seed_);
    const std::size_t part = hash % parts_;
    const std::int64_t now_ns = now.time_since_epoch().count();
    const std::lock_guard lock(locks_[part]);
    entry& place = place_of(hash, part, now_ns);
    const std::int64_t after = std::max(place.empty_at, now_ns) + interval_ns_;
    const std::int64_t over = after - now_ns - std::max(depth_ns_, interval_ns_);
    if (over > 0)
        return {.allowed = false, .wait = std::chrono::nanoseconds(over)};
    place.empty_at = after;
    return {.allowed = true, .wait = {}};
}

middleware rate_limit(rate_limit_options options, error_page page) {
    if (!options.key)
        options.key = usual_key;
    auto self = std::make_shared<limiter>(std::move(options), std::move(page));
    return [self = std::move(self)](request& req, next proceed) {
        const std::string key = self->key(req);
        const auto got = self->buckets.take(key, std::chrono::steady_clock::now());
        return got.allowed ? proceed(req) : ready_task(refuse_for(*self, got.wait));
    };
}

} // namespace rota::http
