#pragma once

#include <span>

namespace rota::http {

/// Fills `to` with random hexadecimal digits, not all zero. Unlikely ever to come again, but not a
/// secret: others can be guessed from some. No system call except for the first of a thread.
void fill_random_hex(std::span<char> to) noexcept;

} // namespace rota::http
