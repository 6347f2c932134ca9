#include "lease_id.hpp"

#include <array>
#include <charconv>

#include <rota/check.hpp>

namespace jobs {

std::string lease_id_of(std::uint64_t job, std::string_view random) {
    ROTA_CHECK(job >> 4 * lease_job_digits == 0, "a job's id fits into that of a lease");
    std::array<char, 16> digits{};
    const char* const end = std::to_chars(digits.begin(), digits.end(), job, 16).ptr;
    const auto size = static_cast<std::size_t>(end - digits.data());
    std::string id(lease_job_digits - size, '0');
    id.append(digits.data(), size);
    id += random.substr(0, lease_secret_digits);
    return id;
}

std::optional<std::uint64_t> job_of_lease(std::string_view lease) noexcept {
    if (lease.size() < lease_job_digits)
        return std::nullopt;
    std::uint64_t job = 0;
    const char* const end = lease.data() + lease_job_digits;
    const auto [stopped, error] = std::from_chars(lease.data(), end, job, 16);
    return error == std::errc() && stopped == end ? std::optional(job) : std::nullopt;
}

} // namespace jobs
