#pragma once

#include <iosfwd>
#include <string>

#include "settings.hpp"

namespace rota_http {

/// What is wrong with settings that were read one by one: with those that belong together, or with
/// a value that those who use it would not have. Empty if nothing is.
[[nodiscard]] std::string complaint_of(const settings& all);

/// A message of CLI11's as a sentence.
[[nodiscard]] std::string in_our_words(std::string message);

/// Says why a command line is refused, in one line, whatever is in it. Returns the exit code.
int refuse(std::string why, std::ostream& err);

} // namespace rota_http
