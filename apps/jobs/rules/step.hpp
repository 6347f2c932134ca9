#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <utility>

#include "operations.hpp"

namespace jobs {

class store_step;

/// What a store notes of a step that waits in it: part of the step, so that it takes no memory.
struct step_wait {
    store_step* next = nullptr; ///< in the same line
    /// By when it is to be answered, whatever becomes of it.
    std::chrono::steady_clock::time_point until{};
    int broken = 0;     ///< how many connections have broken with it
    bool alone = false; ///< it is not to be done together with others
};

/// An operation on its way through a store: run(), perhaps several times, then done() once, after
/// which it may be gone.
class store_step {
public:
    store_step(const store_step&) = delete;
    store_step& operator=(const store_step&) = delete;

    [[nodiscard]] const operations::any& what() const noexcept { return operation_; }
    /// About how many bytes it adds; 0: it adds nothing.
    [[nodiscard]] std::size_t adds_bytes() const noexcept { return adds_bytes_; }
    /// It asks whether jobs could be added, so a store writes although nothing is to be changed.
    [[nodiscard]] bool probes() const noexcept {
        return std::holds_alternative<operations::probe>(operation_);
    }

    /// Throws what the ledger throws. `again`: it may have to be run once more, so it stays as it
    /// is; else a step that adds is used up.
    virtual void run(ledger& on, bool again) = 0;
    /// It is in force, or has not been done because of `error`.
    virtual void done(std::exception_ptr error) noexcept = 0;

    step_wait waits; ///< for the store that has it

protected:
    explicit store_step(operations::any what) noexcept;
    ~store_step() = default;

    operations::any operation_;

private:
    const std::size_t adds_bytes_;
};

} // namespace jobs
