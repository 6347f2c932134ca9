#pragma once

#include <atomic>
#include <cerrno>
#include <deque>
#include <initializer_list>
#include <mutex>

#include <sys/socket.h>

namespace rota::io::test {

/// While it lives, recvmmsg(2) and sendmmsg(2) of this program fail with these errno values first;
/// 0 lets one through. One at a time.
class failing_datagrams {
public:
    explicit failing_datagrams(std::initializer_list<int> receive_errors,
                               std::initializer_list<int> send_errors = {});
    ~failing_datagrams();
    failing_datagrams(const failing_datagrams&) = delete;
    failing_datagrams& operator=(const failing_datagrams&) = delete;

    /// While it is set, nothing can be sent without waiting.
    std::atomic<bool> holds{false};
    /// While it is set, messages that are to be taken apart are refused.
    std::atomic<bool> no_rows{false};
    std::atomic<int> rows{0}; ///< that have been sent, or refused for that

    /// What the next call fails with, or 0.
    int next_receive() noexcept { return next(receive_errors_); }
    int next_send(const mmsghdr* first) noexcept;
    void note_sent(const mmsghdr* all, int count) noexcept;
    [[nodiscard]] bool all_failed() const;

private:
    int next(std::deque<int>& errors) noexcept;

    mutable std::mutex lock_;
    std::deque<int> receive_errors_;
    std::deque<int> send_errors_;
};

} // namespace rota::io::test
