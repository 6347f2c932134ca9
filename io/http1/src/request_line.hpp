#pragma once

#include <optional>
#include <string_view>

#include <rota/http/detail/host.hpp>
#include <rota/http/request_head.hpp>

namespace rota::http {

/// Why a request cannot be served: the status to answer with and a string literal that says what is
/// wrong.
struct parse_error {
    int status = 0;
    const char* reason = "";
};

/// The result of a check: nothing, or what is wrong.
using check_result = std::optional<parse_error>;

/// Takes a request line without its CRLF apart (RFC 9112 section 3) and fills in the method, the
/// version and what the target says; `line` lies behind `head.base`. One space, no more, between
/// the parts. `plain` says whether the target is an absolute path, with or without a query, of
/// characters that stand for themselves: nothing else need look at it.
[[nodiscard]] check_result parse_request_line(std::string_view line, request_head& head,
                                              bool& plain);

/// The same of the line that nearly every request begins with, with its CRLF: GET, a target that is
/// `plain`, HTTP/1.1. False, with nothing done, if it is anything else; parse_request_line() then
/// says what.
[[nodiscard]] bool take_plain_request_line(std::string_view line, request_head& head);

/// Shows as much as can be told of the method and the target of a line that is too long.
void show_long_request_line(std::string_view line, request_head& head);

} // namespace rota::http
