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
#include <unordered_map>
#include <vector>

#include <rota/detail/timer_wheel.hpp>
#include <rota/worker.hpp>

#include "site_file.hpp"

namespace rota::http {

/// Open files by their path, with no more than a number of descriptors together. What has not been
/// asked for since the hand of the clock came by last makes room; what has not for a minute goes by
/// sweep(). Any thread.
class file_cache {
public:
    using time_point = std::chrono::steady_clock::time_point;

    explicit file_cache(std::size_t open_max);

    [[nodiscard]] site_file_ptr find(std::string_view path, time_point now);
    void put(std::string_view path, site_file_ptr file, time_point now);
    void drop(std::string_view path);
    /// All of them go: their descriptors are wanted elsewhere.
    void clear();
    [[nodiscard]] std::size_t size();
    /// Closes some of what has not been asked for for a minute. When to come again:
    /// time_point::max() if nothing is left.
    [[nodiscard]] time_point sweep(time_point now) noexcept;

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
        std::size_t open = 0; // descriptors
    };
    static constexpr std::size_t shards_max = 16;

    shard& shard_of(std::string_view path) noexcept { return shards_[hash{}(path) % shard_count_]; }
    static site_file_ptr remove(shard& s, std::size_t place) noexcept;
    static std::size_t least_used(shard& s) noexcept;

    const std::size_t shard_count_;
    const std::size_t each_max_;
    std::array<shard, shards_max> shards_;
};

/// Sweeps a cache by a timer of the worker that it was made on, and is used and destroyed on. What
/// it would have closed goes with it, in time or not.
class file_sweeper : private timer {
public:
    explicit file_sweeper(std::shared_ptr<file_cache> of) noexcept;
    ~file_sweeper();

    /// A file has been put: from now on, until none is left.
    void start() noexcept;

private:
    void sweep() noexcept;

    const std::shared_ptr<file_cache> of_;
    worker& home_;
};

} // namespace rota::http
