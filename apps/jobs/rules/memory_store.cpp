#include "memory_store.hpp"

#include "step.hpp"

namespace jobs {

bool memory_store::submit(store_step& what, std::exception_ptr& error) {
    const std::lock_guard guard(lock_);
    try {
        if (stale_) {
            rules_.reload();
            stale_ = false;
        }
        what.run(rules_, false);
        rules_.flush();
        rows_.commit();
        tell(rules_.take_changes());
    } catch (...) {
        error = std::current_exception();
        rows_.roll_back();
        stale_ = true;
        (void)rules_.take_changes();
    }
    return false;
}

} // namespace jobs
