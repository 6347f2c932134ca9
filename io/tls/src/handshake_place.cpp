#include "handshake_place.hpp"

#include <algorithm>

namespace rota::io::tls {

handshake_place::entry::entry(handshake_place& in, std::size_t most)
    : in_(in), previous_(in.newest_) {
    (previous_ != nullptr ? previous_->next_ : in.oldest_) = this;
    in.newest_ = this;
    if (++in.count_ <= most)
        return;
    entry& oldest = *in.oldest_;
    oldest.unlink(); // it does not count any more
    oldest.given_up_.request_stop();
}

handshake_place::entry::~entry() { unlink(); }

void handshake_place::entry::unlink() noexcept {
    if (!linked_)
        return;
    linked_ = false;
    (previous_ != nullptr ? previous_->next_ : in_.oldest_) = next_;
    (next_ != nullptr ? next_->previous_ : in_.newest_) = previous_;
    --in_.count_;
}

bool handshake_place::elsewhere(const worker& home, std::size_t per_second) noexcept {
    if (home.state() == baton::lent)
        return true;
    const auto now = home.turn_time();
    if (per_second != 0 && count_ <= few && now >= home.client_heard() + quiet)
        return false;
    if (now >= window_end_) {
        window_end_ = now + window;
        done_ = 0;
    }
    constexpr std::size_t windows = std::chrono::seconds(1) / window;
    if (done_ >= std::max<std::size_t>(per_second / windows, per_second != 0 ? 1 : 0))
        return true;
    ++done_;
    return false;
}

} // namespace rota::io::tls
