#pragma once

#include <string>
#include <string_view>

namespace three_questions {

/// How a crossing ends.
enum class outcome { passes, traveller_falls, keeper_falls };

[[nodiscard]] std::string_view to_string(outcome value) noexcept;

/// What the keeper asks third. It depends on who asks to cross: a king is expected to know his
/// birds.
enum class third_question { colour, swallow };

[[nodiscard]] third_question third_question_for(std::string_view name);

/// What becomes of somebody who gave these three answers. Case, punctuation and blanks around the
/// words do not matter. See the rule table in rules.cpp.
[[nodiscard]] outcome judge(std::string_view name, std::string_view quest, std::string_view third);

/// The words of `answer` in lower case, one blank between them: what the rules look at.
[[nodiscard]] std::string words_of(std::string_view answer);

} // namespace three_questions
