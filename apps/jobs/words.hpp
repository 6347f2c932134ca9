#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <rota/job_store.hpp>

namespace jobs {

// The words of the API, in one place.

/// Ids are text for clients: they need not know what they are made of.
[[nodiscard]] inline std::string id_text(std::uint64_t id) { return std::to_string(id); }

[[nodiscard]] inline std::string_view state_of(const rota::job_status& status) noexcept {
    return status.in_progress ? "in_progress" : "queued";
}

/// Why a job was not added.
[[nodiscard]] inline std::string_view reason_of(rota::add_outcome outcome) noexcept {
    switch (outcome) {
    case rota::add_outcome::duplicate:
        return "duplicate";
    case rota::add_outcome::full:
        return "queue_full";
    default:
        return "closed";
    }
}

} // namespace jobs
