#pragma once

#include <mutex>

namespace rota {

/// Which branch of a race is the first: one at most ever is, and from then on it stays that one.
///
/// What serves a waiter that runs in a race (when_any) has to get its claim in the same step,
/// under the lock of what is waited for; a waiter whose race is decided is passed over. So of two
/// branches that could be served at once, on two threads, one is served, and the other has taken
/// and given nothing.
///
/// A branch that looks whether it can be served at once may find a branch of another race at the
/// other end (a push that meets a pop), and both must be had, or none. So there is one lock for all
/// claims, behind that of the primitive; it is held for some loads and stores, and only where a
/// waiter runs in a race at all. Any thread.
class claim {
public:
    claim() = default;
    claim(const claim&) = delete;
    claim& operator=(const claim&) = delete;

    /// Whether `branch` is the first, by now.
    bool take(const void* branch) noexcept;

    /// A look of `branch` whether it can be served at once. While it lives the race counts as
    /// decided, so that a branch is not served by another one of its own race; unless served() is
    /// called, it is open again afterwards.
    class attempt {
    public:
        attempt(claim& race, const void* branch) noexcept;
        attempt(const attempt&) = delete;
        attempt& operator=(const attempt&) = delete;
        ~attempt();
        /// Whether another branch has been the first.
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
