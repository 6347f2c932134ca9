#include <rota/check.hpp>

#include <cstdio>
#include <cstdlib>

#include <unistd.h>

namespace rota::detail {

void check_failed(const char* what, const char* condition, std::source_location where) noexcept {
    // One write of one line: stdio may hold a lock, or allocate, in the state that brought us here.
    char line[1024];
    const int length =
        std::snprintf(line, sizeof line, "rota: check failed: %s (%s) at %s:%u, %s\n", what,
                      condition, where.file_name(), where.line(), where.function_name());
    if (length > 0) {
        const auto bytes = static_cast<std::size_t>(length);
        if (::write(STDERR_FILENO, line, bytes < sizeof line ? bytes : sizeof line - 1) < 0) {
            // Nobody to tell.
        }
    }
    std::abort();
}

} // namespace rota::detail
