#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "site_file.hpp"

namespace rota::http {

/// Open files by their path, not more than a number of them. What has not been asked for since the
/// hand of the clock came by last makes room; what has not for a minute goes when others are asked
/// for. Any thread.
class file_cache {
public:
    using time_point = std::chrono::steady_clock::time_point;

    explicit file_cache(std::size_t files_max);

    [[nodiscard]] site_file_ptr find(std::string_view path, time_point now);
    void put(std::string_view path, site_file_ptr file, time_point now);
    void drop(std::string_view path);
    /// All of them go: their descriptors are wanted elsewhere.
    void clear();
    [[nodiscard]] std::size_t size();

private:
    struct entry {
        std::string path;
        site_file_ptr file;
        time_point used_at; // to the second
        bool used;          // since the hand came by
    };
    struct hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const noexcept {
            return std::hash<std::string_view>{}(text);
        }
    };
    /// A part of them, with a lock of its own.
    struct shard {
        std::mutex lock;
        std::unordered_map<std::string, std::size_t, hash, std::equal_to<>> places;
        std::vector<entry> entries;
        std::size_t hand = 0;
        time_point swept_at{};
    };
    static constexpr std::size_t shards_max = 16;

    shard& shard_of(std::string_view path) noexcept { return shards_[hash{}(path) % shard_count_]; }
    static void remove(shard& s, std::size_t place, std::vector<site_file_ptr>& gone);
    static void sweep(shard& s, time_point now, std::vector<site_file_ptr>& gone);
    static std::size_t least_used(shard& s) noexcept;

    const std::size_t shard_count_;
    const std::size_t each_max_;
    std::array<shard, shards_max> shards_;
};

} // namespace rota::http
