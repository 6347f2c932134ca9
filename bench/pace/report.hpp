#pragma once

#include <string>

#include "run.hpp"
#include "settings.hpp"

namespace pace {

/// Everything that was measured, as one line of JSON.
std::string as_json(const settings& asked, const measurement& taken);

} // namespace pace
