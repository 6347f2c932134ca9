#pragma once

#include <cstddef>
#include <string_view>

namespace jobs {

/// What limits count of a payload, given as JSON without white space: a text's own bytes in UTF-8,
/// and of any other value its JSON. Any thread.
[[nodiscard]] std::size_t payload_size(std::string_view json) noexcept;

} // namespace jobs
