#pragma once

#include <span>

namespace rota::http {

/// Fills `to` with hexadecimal digits by chance, not all zero. Unlikely ever to come again, but no
/// secret: who sees some can tell others. No system call but for the first of a thread.
void fill_random_hex(std::span<char> to) noexcept;

} // namespace rota::http
