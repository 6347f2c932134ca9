#pragma once

#include <cstddef>
#include <exception>
#include <utility>

#include "operations.hpp"

namespace jobs {

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

protected:
    explicit store_step(operations::any what) noexcept;
    ~store_step() = default;

    operations::any operation_;

private:
    const std::size_t adds_bytes_;
};

} // namespace jobs
