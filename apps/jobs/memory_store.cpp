#include "memory_store.hpp"

namespace jobs {

bool memory_store::submit(step& what, std::exception_ptr& error) {
    const std::lock_guard guard(lock_);
    try {
        what.run(rules_);
        rules_.flush();
    } catch (...) {
        error = std::current_exception();
    }
    tell(rules_.take_changes());
    return false;
}

} // namespace jobs
