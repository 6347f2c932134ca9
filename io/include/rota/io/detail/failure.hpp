#pragma once

#include <exception>

namespace rota::io::detail {

/// Why a program cannot go on, and what its operator can do about it.
struct failure_words {
    const char* before;
    const char* reason; ///< valid as long as the exception, or for ever
    const char* cure;
};

/// Returns the words for an exception. Any thread; takes memory only for what no shortage of it has
/// brought.
[[nodiscard]] failure_words words_for(const std::exception& e) noexcept;

} // namespace rota::io::detail
