#pragma once

#include <atomic>
#include <cerrno>
#include <deque>
#include <mutex>
#include <vector>

namespace rota::io::test {

/// While it lives, accept4(2) of this program fails with these errno values first, whoever waits,
/// and is counted. One at a time.
class failing_accept {
public:
    explicit failing_accept(const std::vector<int>& errors);
    ~failing_accept();
    failing_accept(const failing_accept&) = delete;
    failing_accept& operator=(const failing_accept&) = delete;

    [[nodiscard]] int calls() const noexcept { return calls_; }
    /// How many have failed, by one of these errors or of themselves, other than by EAGAIN.
    [[nodiscard]] int failures() const noexcept { return failures_; }
    [[nodiscard]] bool all_failed() const;
    /// What the next call fails with, or 0.
    int next() noexcept;
    void note_failure(int error) noexcept { failures_ += error != EAGAIN ? 1 : 0; }

private:
    std::atomic<int> calls_{0};
    std::atomic<int> failures_{0};
    mutable std::mutex lock_;
    std::deque<int> errors_;
};

} // namespace rota::io::test
