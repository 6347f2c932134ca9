#pragma once

#include <atomic>

namespace rota::io::test {

/// While it lives, each call of sendfile(2) of this program fails with `error`. One at a time.
class failing_sendfile {
public:
    explicit failing_sendfile(int error);
    ~failing_sendfile();
    failing_sendfile(const failing_sendfile&) = delete;
    failing_sendfile& operator=(const failing_sendfile&) = delete;

    [[nodiscard]] bool has_failed() const noexcept { return failed_; }
    /// What this call fails with.
    int fail() noexcept {
        failed_ = true;
        return error_;
    }

private:
    const int error_;
    std::atomic<bool> failed_{false};
};

} // namespace rota::io::test
