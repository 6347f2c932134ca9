#pragma once

#include <atomic>
#include <cstddef>

#include <rota/http/detail/summable.hpp>

namespace rota::http {

/// How much memory many together may hold, as far as they say. Any thread; outlives its shares.
class memory_budget {
public:
    explicit memory_budget(std::size_t bytes) noexcept
        : left_(static_cast<long long>(summable(bytes))) {}

    /// What one of them holds; given back at the end. Used by one thread at a time.
    class share {
    public:
        explicit share(memory_budget& from) noexcept : from_(from) {}
        share(const share&) = delete;
        share& operator=(const share&) = delete;
        ~share() { from_.left_ += taken_; }

        /// True if it may hold `bytes` in all. What it has is kept, if it is false, too.
        [[nodiscard]] bool reach(std::size_t bytes) noexcept {
            const long long more = static_cast<long long>(summable(bytes)) - taken_;
            if (more <= 0)
                return true;
            if ((from_.left_ -= more) < 0) {
                from_.left_ += more;
                return false;
            }
            taken_ += more;
            return true;
        }

    private:
        memory_budget& from_;
        long long taken_ = 0;
    };

private:
    std::atomic<long long> left_;
};

} // namespace rota::http
