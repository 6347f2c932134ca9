#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <utility>

namespace rota_http {

/// How much content all requests to /echo together may keep. Any thread; outlives its shares.
class echo_memory {
public:
    /// Memory is given out in steps of this size. The first one is free: it needs no permission.
    static constexpr std::size_t step = 65'536;
    /// When so much had been given out, and nearly all has come back, the allocator holds much that
    /// is free.
    static constexpr std::size_t much = 33'554'432;

    /// `when_back`, if set, is called then, by the thread that gives back; it does not throw.
    explicit echo_memory(std::size_t bytes, std::function<void()> when_back = {})
        : all_(static_cast<long long>(bytes)), when_back_(std::move(when_back)), left_(all_) {}

    /// What one request keeps; given back at the end.
    class share {
    public:
        explicit share(echo_memory& from) noexcept : from_(from) {}
        share(const share&) = delete;
        share& operator=(const share&) = delete;
        ~share() {
            if (taken_ != 0)
                from_.give_back(static_cast<long long>(taken_));
        }

        /// True if it may keep `bytes` in all.
        bool reach(std::size_t bytes) noexcept {
            while (bytes > step + taken_) {
                if (!from_.take_step())
                    return false;
                taken_ += step;
            }
            return true;
        }

    private:
        echo_memory& from_;
        std::size_t taken_ = 0;
    };

private:
    bool take_step() noexcept {
        constexpr auto bytes = static_cast<long long>(step);
        const long long left = left_ -= bytes;
        if (left < 0) {
            left_ += bytes;
            return false;
        }
        if (all_ - left >= static_cast<long long>(much))
            was_much_.store(true, std::memory_order_relaxed);
        return true;
    }

    void give_back(long long bytes) noexcept {
        const long long left = left_ += bytes;
        if (all_ - left <= static_cast<long long>(much / 16) && was_much_.exchange(false) &&
            when_back_)
            when_back_();
    }

    const long long all_;
    const std::function<void()> when_back_;
    std::atomic<long long> left_;
    std::atomic<bool> was_much_{false};
};

} // namespace rota_http
