#pragma once

#include <string>

#include <rota/generator.hpp>

#include "rules.hpp"

namespace three_questions {

/// Speaks as the keeper of the bridge: yields its questions, is sent the answers, returns what
/// becomes of the traveller. Where the dialogue stands is nowhere but in the coroutine, so it does
/// not matter what drives it: a console, a socket, a test. An answer without a word, or none at
/// all, is asked for again.
rota::generator<std::string, std::string, outcome> ask_three_questions();

/// Returns the line that ends a dialogue with `result`.
[[nodiscard]] std::string farewell(outcome result);

} // namespace three_questions
