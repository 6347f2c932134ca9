#pragma once

#include <string_view>

#include <rota/http/headers.hpp>
#include <rota/http/request.hpp>

namespace rota::http {

/// Adds those of `lines` ("Name: value\r\n" each, well-formed) whose names are not there; a Vary to
/// the one that is there. What is granted to an origin goes with that origin alone: where another
/// Access-Control-Allow-Origin is there, no credentials are added.
void add_missing_fields(headers& to, std::string_view lines);

/// Gives any answer to `of` this field; see request_facts::answer_fields. Both are known to be
/// well-formed.
void promise_field(request& of, std::string_view name, std::string_view value);
/// The same, in place of one of that name that was promised before.
void promise_field_instead(request& of, std::string_view name, std::string_view value);

/// Takes back what has been promised by that name.
void withdraw_field(request& of, std::string_view name);

} // namespace rota::http
