#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace jobs {

/// The id of a lease begins with its job's, so that the job is found by that, and no index has to
/// be kept of what is as good as random: 12 hexadecimal digits, and then a secret.
inline constexpr std::size_t lease_job_digits = 12;
inline constexpr std::size_t lease_secret_digits = 20;

/// `random` is at least that secret. Any thread.
[[nodiscard]] std::string lease_id_of(std::uint64_t job, std::string_view random);
/// The job of a lease, if the id may be one; it may also be made up. Any thread.
[[nodiscard]] std::optional<std::uint64_t> job_of_lease(std::string_view lease) noexcept;

} // namespace jobs
