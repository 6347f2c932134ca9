#include "file_cache.hpp"

#include <algorithm>
#include <utility>

namespace rota::http {
namespace {

constexpr auto between_sweeps = std::chrono::seconds(5);
constexpr auto unused_max = std::chrono::seconds(60);
constexpr std::size_t closed_at_once = 64;
constexpr std::size_t small = 256; // so few need no parts

std::size_t open_in(const site_file& file) {
    const auto there = [](const site_file::sibling& one) { return one.there; };
    return 1 + static_cast<std::size_t>(std::ranges::count_if(file.siblings, there));
}

} // namespace

file_cache::file_cache(std::size_t open_max)
    : shard_count_(open_max < small ? 1 : shards_max),
      each_max_(std::max<std::size_t>(1, open_max / shard_count_)) {}

site_file_ptr file_cache::find(std::string_view path, time_point now) {
    shard& s = shard_of(path);
    const std::lock_guard guard(s.lock);
    const auto found = s.places.find(path);
    if (found == s.places.end())
        return nullptr;
    entry& e = s.entries[found->second];
    e.used = true;
    e.used_at = now;
    return e.file;
}

/// One file has its place, however many stand beside it.
void file_cache::put(std::string_view path, site_file_ptr file, time_point now) {
    std::vector<site_file_ptr> gone; // closed without the lock
    const std::size_t needed = open_in(*file);
    shard& s = shard_of(path);
    const std::lock_guard guard(s.lock);
    if (const auto found = s.places.find(path); found != s.places.end())
        gone.push_back(remove(s, found->second));
    while (!s.entries.empty() && s.open + needed > each_max_)
        gone.push_back(remove(s, least_used(s)));
    const auto [added, fresh] = s.places.try_emplace(std::string(path), s.entries.size());
    try {
        s.entries.push_back({std::string(path), std::move(file), now, false});
    } catch (...) {
        s.places.erase(added);
        throw;
    }
    s.open += needed;
}

void file_cache::drop(std::string_view path) {
    site_file_ptr gone;
    shard& s = shard_of(path);
    const std::lock_guard guard(s.lock);
    if (const auto found = s.places.find(path); found != s.places.end())
        gone = remove(s, found->second);
}

void file_cache::clear() {
    for (shard& s : shards_) {
        std::vector<entry> gone;
        const std::lock_guard guard(s.lock);
        s.places.clear();
        gone.swap(s.entries);
        s.hand = s.open = 0;
    }
}

std::size_t file_cache::size() {
    std::size_t count = 0;
    for (shard& s : shards_) {
        const std::lock_guard guard(s.lock);
        count += s.entries.size();
    }
    return count;
}

file_cache::time_point file_cache::sweep(time_point now) noexcept {
    std::array<site_file_ptr, closed_at_once> gone;
    std::size_t count = 0;
    time_point oldest = time_point::max();
    for (shard& s : shards_) {
        const std::lock_guard guard(s.lock);
        for (std::size_t place = 0; place < s.entries.size();) {
            if (const time_point used_at = s.entries[place].used_at; now - used_at < unused_max) {
                oldest = std::min(oldest, used_at);
                ++place;
            } else if (count == gone.size()) {
                return now;
            } else {
                gone[count++] = remove(s, place);
            }
        }
    }
    if (oldest == time_point::max())
        return oldest;
    return std::max(oldest + unused_max, now + between_sweeps);
}

/// The last one takes its place.
site_file_ptr file_cache::remove(shard& s, std::size_t place) noexcept {
    site_file_ptr gone = std::move(s.entries[place].file);
    s.open -= open_in(*gone);
    s.places.erase(s.places.find(s.entries[place].path));
    if (place + 1 != s.entries.size()) {
        s.entries[place] = std::move(s.entries.back());
        s.places.find(s.entries[place].path)->second = place;
    }
    s.entries.pop_back();
    return gone;
}

std::size_t file_cache::least_used(shard& s) noexcept {
    for (;;) {
        if (s.hand >= s.entries.size())
            s.hand = 0;
        const std::size_t place = s.hand++;
        if (!std::exchange(s.entries[place].used, false))
            return place;
    }
}

// --- What sweeps ---

file_sweeper::file_sweeper(std::shared_ptr<file_cache> of) noexcept
    : timer([](timer& self) noexcept { static_cast<file_sweeper&>(self).sweep(); }),
      of_(std::move(of)), home_(*worker::current()) {}

file_sweeper::~file_sweeper() {
    home_.timers().disarm(*this);
    of_->clear();
}

void file_sweeper::start() noexcept {
    if (!armed())
        home_.timers().arm(*this, home_.turn_time() + unused_max);
}

void file_sweeper::sweep() noexcept {
    const auto next = of_->sweep(home_.turn_time());
    if (next != file_cache::time_point::max())
        home_.timers().arm(*this, next);
}

} // namespace rota::http
