#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rota::crypto {

/// Returns `size` random bytes of the kernel's, by OpenSSL's generator, that nobody can guess. For
/// any thread. Throws std::runtime_error if there are none to be had.
[[nodiscard]] std::string random_bytes(std::size_t size);

/// Returns whether two texts are the same, in a time that tells nothing but their lengths: what a
/// client sent against a secret. For any thread.
[[nodiscard]] bool equal_in_constant_time(std::string_view a, std::string_view b) noexcept;

/// Overwrites a secret that is not needed any more, so that it is not found in memory later; the
/// string is empty then.
void wipe(std::string& secret) noexcept;

} // namespace rota::crypto
