#include "step.hpp"

namespace jobs {
namespace {

/// What a job takes up beside its texts, in rows and indexes.
constexpr std::size_t bytes_of_row = 200;

std::size_t bytes_added(const operations::any& what) noexcept {
    std::size_t bytes = 0;
    if (const auto* const adding = std::get_if<operations::add>(&what)) {
        for (const new_job& job : adding->jobs)
            bytes += job.key.size() + job.payload.size() + bytes_of_row;
    }
    return bytes;
}

} // namespace

store_step::store_step(operations::any what) noexcept
    : operation_(std::move(what)), adds_bytes_(bytes_added(operation_)) {}

} // namespace jobs
