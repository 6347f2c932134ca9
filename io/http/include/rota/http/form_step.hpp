#pragma once

#include <cstdint>

namespace rota::http {

/// The result of a step of a parser of forms (multipart.hpp, urlencoded.hpp).
enum class form_step : std::uint8_t {
    more,     ///< the input is used up: the next piece of it is needed
    part,     ///< a part begins: its head or name is known
    data,     ///< a piece of its content
    part_end, ///< it has ended
    end,      ///< the form has ended; further input is ignored
    failed,   ///< it is not such a form, or beyond a limit; the parser can do nothing more
};

/// Why it failed.
struct form_failure {
    int status = 0; ///< to answer with
    const char* reason = "";
};

} // namespace rota::http
