#pragma once

#include <chrono>
#include <cstddef>

#include "jobs/rules/step.hpp"
#include "needs.hpp"

namespace jobs {

/// How long a step may take in all, from when it is asked for, and how much of that has to be left
/// for it to be begun.
inline constexpr std::chrono::seconds step_limit{15};
inline constexpr std::chrono::seconds step_needs{3};

/// A step on its way through the pool, as often as it is tried.
struct postgres_step {
    using time_point = std::chrono::steady_clock::time_point;

    explicit postgres_step(store_step& what)
        : call(&what), kind(kind_of(what.what())), weight(weight_of(what.what())) {}

    store_step* call;
    step_kind kind;
    std::size_t weight;
    /// By when it is to be answered, whatever the server does.
    time_point until = std::chrono::steady_clock::now() + step_limit;
    int broken = 0; ///< how many connections have broken with it

    /// Until when it can be begun, or tried again.
    [[nodiscard]] time_point begins_by() const noexcept { return until - step_needs; }
};

} // namespace jobs
