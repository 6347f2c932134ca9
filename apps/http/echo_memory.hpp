#pragma once

#include <atomic>
#include <cstddef>

namespace rota_http {

/// How much content all requests to /echo together may keep. Any thread; outlives its shares.
class echo_memory {
public:
    /// Memory is given out in steps of this size. The first one is free: it needs no permission.
    static constexpr std::size_t step = 1'048'576;

    explicit echo_memory(std::size_t bytes) noexcept : left_(static_cast<long long>(bytes)) {}

    /// What one request keeps; given back at the end.
    class share {
    public:
        explicit share(echo_memory& from) noexcept : from_(from) {}
        share(const share&) = delete;
        share& operator=(const share&) = delete;
        ~share() { from_.left_ += static_cast<long long>(taken_); }

        /// True if it may keep `bytes` in all.
        bool reach(std::size_t bytes) noexcept {
            while (bytes > step + taken_) {
                const long long left = from_.left_ -= static_cast<long long>(step);
                if (left < 0) {
                    from_.left_ += static_cast<long long>(step);
                    return false;
                }
                taken_ += step;
            }
            return true;
        }

    private:
        echo_memory& from_;
        std::size_t taken_ = 0;
    };

private:
    std::atomic<long long> left_;
};

} // namespace rota_http
