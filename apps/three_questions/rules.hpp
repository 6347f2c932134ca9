#pragma once

#include <string>
#include <string_view>

namespace three_questions {

/// How a crossing ends.
enum class outcome { passes, traveller_falls, keeper_falls };

[[nodiscard]] std::string_view to_string(outcome value) noexcept;

/// The third question. It depends on the name of the traveller: a king is expected to know about
/// birds.
enum class third_question { colour, swallow };

[[nodiscard]] third_question third_question_for(std::string_view name);

/// Returns what becomes of a traveller who gave these three answers. Case, punctuation and blanks
/// around the words do not matter. See the rule table in rules.cpp.
[[nodiscard]] outcome judge(std::string_view name, std::string_view quest, std::string_view third);

/// Returns the words of `answer` in lower case, one blank between them: what the rules look at.
[[nodiscard]] std::string words_of(std::string_view answer);

} // namespace three_questions
