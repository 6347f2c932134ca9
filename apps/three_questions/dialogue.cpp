#include "dialogue.hpp"

#include <optional>
#include <string_view>

namespace three_questions {
namespace {

constexpr std::string_view again = "Speak up, I did not hear a word. ";
constexpr std::string_view who = "Halt! Three answers and the bridge is yours. What is your name?";
constexpr std::string_view why = "What is your quest?";
constexpr std::string_view which_colour = "Which colour do you like best?";
constexpr std::string_view how_fast = "How fast does a swallow fly that carries no load?";

using dialogue = rota::generator<std::string, std::string, outcome>;

bool says_nothing(const std::optional<std::string>& answer) {
    return !answer || words_of(*answer).empty();
}

} // namespace

// A question is asked in one loop each, for a generator can only yield from its own body.
dialogue ask_three_questions() {
    std::string question(who);
    std::optional<std::string> name = co_yield question;
    while (says_nothing(name)) {
        question = std::string(again) + "What is your name?";
        name = co_yield question;
    }
    question = why;
    std::optional<std::string> quest = co_yield question;
    while (says_nothing(quest)) {
        question = std::string(again) + std::string(why);
        quest = co_yield question;
    }
    const bool bird = third_question_for(*name) == third_question::swallow;
    const std::string_view last = bird ? how_fast : which_colour;
    question = last;
    std::optional<std::string> third = co_yield question;
    while (says_nothing(third)) {
        question = std::string(again) + std::string(last);
        third = co_yield question;
    }
    co_return judge(*name, *quest, *third);
}

std::string farewell(outcome result) {
    switch (result) {
    case outcome::passes:
        return "Very well. Off you go, across the bridge.";
    case outcome::traveller_falls:
        return "Wrong! A spring creaks, and down you go into the gorge.";
    case outcome::keeper_falls:
        return "How should I know? A spring creaks, and down goes the keeper. The bridge is free.";
    }
    return {};
}

} // namespace three_questions
