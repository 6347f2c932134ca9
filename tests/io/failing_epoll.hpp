#pragma once

#include <atomic>

namespace rota::io::test {

/// While it lives, the call of epoll_ctl(2) that comes after `others` of this program fails with
/// ENOMEM, once. One at a time.
class failing_epoll {
public:
    explicit failing_epoll(int others);
    ~failing_epoll();
    failing_epoll(const failing_epoll&) = delete;
    failing_epoll& operator=(const failing_epoll&) = delete;

    [[nodiscard]] bool has_failed() const noexcept { return left_ < 0; }
    /// Whether this call is the one.
    bool fails() noexcept { return left_-- == 0; }

private:
    std::atomic<int> left_;
};

} // namespace rota::io::test
