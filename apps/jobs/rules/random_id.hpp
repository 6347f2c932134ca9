#pragma once

#include <functional>
#include <string>

namespace jobs {

/// Makes ids that nobody can guess.
using id_source = std::function<std::string()>;
/// 32 hexadecimal digits from the kernel's random numbers (man 2 getrandom). Any thread. Throws
/// std::system_error.
[[nodiscard]] std::string random_id();

} // namespace jobs
