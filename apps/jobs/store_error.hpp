#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include "jobs/watch/store_health.hpp"

namespace jobs {

/// Thrown when the store cannot do its work now: why, for the caller. What was asked for has not
/// been done.
class store_error : public std::runtime_error {
public:
    explicit store_error(const std::string& why, store_fault kind = store_fault::failed)
        : std::runtime_error(why), kind_(kind) {}
    [[nodiscard]] store_fault kind() const noexcept { return kind_; }

private:
    store_fault kind_;
};

/// Returns the reason, for people: what std::bad_alloc says of itself is the name of a type.
[[nodiscard]] inline const char* reason_of(const std::exception& e) noexcept {
    return dynamic_cast<const std::bad_alloc*>(&e) != nullptr ? "out of memory" : e.what();
}

/// Makes an error for another thread. Copies of an exception share its text, so none may be left on
/// this thread once the other has it.
template <class Error = store_error, class... More>
[[nodiscard]] std::exception_ptr failure(std::string_view why, More... more) noexcept {
    try {
        return std::make_exception_ptr(Error(std::string(why), more...));
    } catch (...) { // no memory for the words
        return std::current_exception();
    }
}

} // namespace jobs
