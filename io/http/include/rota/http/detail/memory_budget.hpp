#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

#include <rota/http/detail/summable.hpp>

namespace rota::http {

/// How much memory many together may hold, as far as they report it. Any thread; outlives its
/// shares.
class memory_budget {
public:
    static constexpr std::size_t step = 16'384; ///< of share::reach_in_steps()

    explicit memory_budget(std::size_t bytes) noexcept
        : left_(static_cast<long long>(summable(bytes))) {}

    /// What one of them holds; given back at the end. Used by one thread at a time. Without a
    /// budget it is unlimited.
    class share {
    public:
        explicit share(memory_budget* from) noexcept : from_(from) {}
        share(const share&) = delete;
        share& operator=(const share&) = delete;
        ~share() { give_back(); }

        /// Returns true if it may hold `bytes` in all. What it has is kept, if it is false, too.
        [[nodiscard]] bool reach(std::size_t bytes) noexcept {
            const long long more = static_cast<long long>(summable(bytes)) - taken_;
            if (from_ == nullptr || more <= 0)
                return true;
            if ((from_->left_ -= more) < 0) {
                from_->left_ += more;
                return false;
            }
            taken_ += more;
            return true;
        }

        /// Does the same in large steps, of which the first is free: for what grows in small ones.
        [[nodiscard]] bool reach_in_steps(std::size_t bytes) noexcept {
            return bytes <= step || reach((bytes - 1) / step * step);
        }

        void give_back() noexcept {
            if (taken_ != 0)
                from_->left_ += std::exchange(taken_, 0);
        }

    private:
        memory_budget* from_;
        long long taken_ = 0;
    };

private:
    std::atomic<long long> left_;
};

} // namespace rota::http
