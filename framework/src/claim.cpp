#include <rota/claim.hpp>

namespace rota {

constinit std::recursive_mutex claim::all_claims;

bool claim::take(const void* branch) noexcept {
    const std::lock_guard guard(all_claims);
    if (first_ == nullptr)
        first_ = branch;
    return first_ == branch;
}

claim::attempt::attempt(claim& race, const void* branch) noexcept
    : race_(race), guard_(all_claims), lost_(race.first_ != nullptr) {
    if (!lost_)
        race_.first_ = branch;
}

claim::attempt::~attempt() {
    if (!lost_ && !served_)
        race_.first_ = nullptr;
}

} // namespace rota
