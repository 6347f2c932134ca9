#pragma once

#include <source_location>

/// Checks what the code relies on: names what was violated and where, and ends the process
/// (abort(3)). A failed check is a fault of the program, never of its input.
///
/// ROTA_CHECK(condition, "what holds") is for debug builds, tests, sanitizers, fuzzing and the
/// simulator (Meson's option `checks`); elsewhere the condition is not evaluated, only compiled.
/// ROTA_CHECK_ALWAYS(condition, "what holds") stays in every build: for what would corrupt data if
/// the program went on. Conditions have no side effects. Any thread, also from noexcept functions.

#ifndef ROTA_CHECKS
#define ROTA_CHECKS 0
#endif

namespace rota {

/// Whether ROTA_CHECK is evaluated in this translation unit.
inline constexpr bool checks_enabled = ROTA_CHECKS != 0;

namespace detail {

/// Writes "rota: check failed: <what> (<condition>) at <file>:<line>, <function>" to stderr and
/// aborts. Allocates nothing.
[[noreturn]] void
check_failed(const char* what, const char* condition,
             std::source_location where = std::source_location::current()) noexcept;

} // namespace detail
} // namespace rota

#define ROTA_CHECK_ALWAYS(condition, what)                                                         \
    ((condition) ? static_cast<void>(0) : ::rota::detail::check_failed(what, #condition))

#define ROTA_CHECK(condition, what)                                                                \
    (!::rota::checks_enabled || (condition) ? static_cast<void>(0)                                 \
                                            : ::rota::detail::check_failed(what, #condition))
