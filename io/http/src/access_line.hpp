#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include <rota/http/access_log.hpp>

namespace rota::http {

/// Appends the line of a request, with its LF. See access_log.
void append_access_line(std::string& to, const access_entry& entry, access_log_format format,
                        std::chrono::system_clock::time_point now, std::size_t field_bytes_max);

} // namespace rota::http
