#pragma once

#include <cstdint>

namespace rota::http {

/// What a parser of forms (multipart.hpp, urlencoded.hpp) has come to.
enum class form_step : std::uint8_t {
    more,     ///< the input is used up: the next piece of it is needed
    part,     ///< a part begins: what is said of it is known
    data,     ///< a piece of its content
    part_end, ///< it has ended
    end,      ///< the form has ended; further input is ignored
    failed,   ///< it is no such form, or beyond a limit; the parser can do nothing more
};

/// Why.
struct form_failure {
    int status = 0; ///< to answer with
    const char* reason = "";
};

} // namespace rota::http
