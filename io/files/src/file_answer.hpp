#pragma once

#include <chrono>
#include <string_view>

#include <rota/http/request.hpp>
#include <rota/http/response.hpp>

#include "site_file.hpp"

namespace rota::http {

/// The one that the client likes most. Without a word of it the file itself.
[[nodiscard]] const representation& choose_representation(const request& asked,
                                                          const site_file& of);

/// The answer to GET or HEAD of a representation: 200, 206, 304, 412 or 416. `type` outlives it.
[[nodiscard]] response
file_answer(const request& asked, const representation& of, std::string_view type,
            std::chrono::system_clock::time_point now = std::chrono::system_clock::now());

/// The answer to the name of a directory that is asked for without its slash: 301.
[[nodiscard]] response slash_answer(const request& asked);

} // namespace rota::http
