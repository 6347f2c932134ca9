#pragma once

#include <string>

#include "settings.hpp"

namespace rota_http {

/// Which two options name one file, though the program writes to it for one of them, or nothing.
/// What is only read may be one file for several: a certificate and its key. Looks at the files.
[[nodiscard]] std::string complaint_of_files(const settings& all);

} // namespace rota_http
