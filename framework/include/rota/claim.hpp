#pragma once

#include <mutex>

namespace rota {

/// Decides which branch of a race is the first: at most one ever is, and from then on it stays so.
///
/// To serve a waiter that runs in a race (when_any), its claim has to be taken in the same step,
/// under the lock of what is waited for; a waiter whose race is decided is passed over. So of two
/// branches that could be served at once, on two threads, one is served, and the other has taken
/// and given nothing.
///
/// A branch that checks whether it can be served at once may find a branch of another race at the
/// other end (a push that meets a pop), and must get both claims or neither. So there is one lock
/// for all claims, taken after that of the primitive; it is held for some loads and stores, and
/// only where a waiter runs in a race at all. Any thread.
class claim {
public:
    claim() = default;
    claim(const claim&) = delete;
    claim& operator=(const claim&) = delete;

    /// Returns whether `branch` is the first, having made it so if none was.
    bool take(const void* branch) noexcept;

    /// Keeps the race decided for `branch` while it checks whether it can be served at once, so
    /// that no other branch is; reopens it on destruction unless served() was called.
    class attempt {
    public:
        attempt(claim& race, const void* branch) noexcept;
        attempt(const attempt&) = delete;
        attempt& operator=(const attempt&) = delete;
        ~attempt();
        /// Returns whether another branch has been the first.
        [[nodiscard]] bool lost() const noexcept { return lost_; }
        void served() noexcept { served_ = true; }

    private:
        claim& race_;
        const std::lock_guard<std::recursive_mutex> guard_;
        const bool lost_;
        bool served_ = false;
    };

private:
    static std::recursive_mutex all_claims; // held again by the same thread: take() in an attempt

    const void* first_ = nullptr;
};

} // namespace rota
