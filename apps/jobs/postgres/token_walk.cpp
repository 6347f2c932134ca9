#include "token_walk.hpp"

#include <algorithm>

namespace jobs {
namespace {

/// A slice is looked at after so many, or after a hundredth of all if that is less.
constexpr std::uint64_t step_max = token_walk::slice_rows / 10;

} // namespace

std::optional<token_walk::slice> token_walk::next(std::size_t added) {
    const std::lock_guard guard(lock_);
    added_ += added;
    if (added_ == 0 || added_ < std::min(step_max, max_ / 100))
        return std::nullopt;
    added_ = 0;
    return slice{reached_, std::min(slice_rows, max_ + 1 - counted_)};
}

void token_walk::seen(const slice& what, std::uint64_t rows, time_ms earliest) {
    const std::lock_guard guard(lock_);
    if (what.before != reached_)
        return; // another was faster
    counted_ += rows;
    reached_ = earliest;
    const bool all = rows < what.rows;
    if (!all && counted_ <= max_)
        return;
    if (!all)
        beyond_ = std::max(beyond_, earliest);
    counted_ = 0;
    reached_ = never;
}

time_ms token_walk::beyond() const {
    const std::lock_guard guard(lock_);
    return beyond_;
}

void token_walk::trimmed(time_ms until, std::uint64_t rows) {
    const std::lock_guard guard(lock_);
    if (beyond_ <= until && rows < trim_rows)
        beyond_ = 0;
}

} // namespace jobs
