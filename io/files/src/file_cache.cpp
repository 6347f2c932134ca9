#include "file_cache.hpp"

#include <algorithm>
#include <utility>

namespace rota::http {
namespace {

constexpr auto sweep_after = std::chrono::seconds(1);
constexpr auto unused_max = std::chrono::seconds(60);
constexpr std::size_t small = 256; // so few need no parts

} // namespace

file_cache::file_cache(std::size_t files_max)
    : shard_count_(files_max < small ? 1 : shards_max),
      each_max_(std::max<std::size_t>(1, files_max / shard_count_)) {}

site_file_ptr file_cache::find(std::string_view path, time_point now) {
    std::vector<site_file_ptr> gone; // closed without the lock
    shard& s = shard_of(path);
    const std::lock_guard guard(s.lock);
    if (now - s.swept_at > sweep_after)
        sweep(s, now, gone);
    const auto found = s.places.find(path);
    if (found == s.places.end())
        return nullptr;
    entry& e = s.entries[found->second];
    e.used = true;
    e.used_at = now;
    return e.file;
}

void file_cache::put(std::string_view path, site_file_ptr file, time_point now) {
    site_file_ptr gone;
    shard& s = shard_of(path);
    const std::lock_guard guard(s.lock);
    if (const auto found = s.places.find(path); found != s.places.end()) {
        gone = std::exchange(s.entries[found->second].file, std::move(file));
        return;
    }
    if (s.entries.size() < each_max_) {
        const auto [added, fresh] = s.places.try_emplace(std::string(path), s.entries.size());
        try {
            s.entries.push_back({std::string(path), std::move(file), now, false});
        } catch (...) {
            s.places.erase(added);
            throw;
        }
        return;
    }
    const std::size_t place = least_used(s);
    entry fresh{std::string(path), std::move(file), now, false};
    s.places.try_emplace(fresh.path, place); // what may throw comes first
    s.places.erase(s.places.find(s.entries[place].path));
    gone = std::move(s.entries[place].file);
    s.entries[place] = std::move(fresh);
}

void file_cache::drop(std::string_view path) {
    std::vector<site_file_ptr> gone;
    shard& s = shard_of(path);
    const std::lock_guard guard(s.lock);
    if (const auto found = s.places.find(path); found != s.places.end())
        remove(s, found->second, gone);
}

void file_cache::clear() {
    for (shard& s : shards_) {
        std::vector<entry> gone;
        const std::lock_guard guard(s.lock);
        s.places.clear();
        gone.swap(s.entries);
        s.hand = 0;
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

/// The last one takes its place.
void file_cache::remove(shard& s, std::size_t place, std::vector<site_file_ptr>& gone) {
    gone.push_back(std::move(s.entries[place].file));
    s.places.erase(s.places.find(s.entries[place].path));
    if (place + 1 != s.entries.size()) {
        s.entries[place] = std::move(s.entries.back());
        s.places.find(s.entries[place].path)->second = place;
    }
    s.entries.pop_back();
}

/// Looks at some of them at a time.
void file_cache::sweep(shard& s, time_point now, std::vector<site_file_ptr>& gone) {
    constexpr std::size_t at_once = 64;
    s.swept_at = now;
    for (std::size_t left = std::min(at_once, s.entries.size()); left != 0; --left) {
        if (s.hand >= s.entries.size())
            s.hand = 0;
        if (now - s.entries[s.hand].used_at > unused_max)
            remove(s, s.hand, gone);
        else
            ++s.hand;
    }
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

} // namespace rota::http
