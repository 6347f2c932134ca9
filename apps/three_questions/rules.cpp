#include "rules.hpp"

#include <algorithm>
#include <array>

namespace three_questions {
namespace {

constexpr std::array<std::string_view, 14> colours{"black", "blue",   "brown", "gold",   "green",
                                                   "grey",  "orange", "pink",  "purple", "red",
                                                   "teal",  "violet", "white", "yellow"};

bool has_word(const std::string& words, std::string_view word) {
    return (' ' + words + ' ').find(' ' + std::string(word) + ' ') != std::string::npos;
}

std::size_t colours_in(const std::string& words) {
    return static_cast<std::size_t>(std::ranges::count_if(
        colours, [&](std::string_view colour) { return has_word(words, colour); }));
}

struct answers {
    third_question asked;
    std::string quest;
    std::string third;
};

struct rule {
    bool (*applies)(const answers& given);
    outcome result;
};

/// The first rule that applies decides; the last one always does.
constexpr std::array rules{
    // Nobody crosses who is not after the grail.
    rule{[](const answers& a) { return !has_word(a.quest, "grail"); }, outcome::traveller_falls},
    // Who asks back which swallow is meant has the keeper at a loss.
    rule{[](const answers& a) {
             return a.asked == third_question::swallow &&
                    (has_word(a.third, "african") || has_word(a.third, "european"));
         },
         outcome::keeper_falls},
    rule{[](const answers& a) { return a.asked == third_question::swallow; },
         outcome::traveller_falls},
    // One favourite colour is an answer; two are a change of mind, none is no colour.
    rule{[](const answers& a) { return colours_in(a.third) == 1; }, outcome::passes},
    rule{[](const answers&) { return true; }, outcome::traveller_falls},
};

} // namespace

std::string_view to_string(outcome value) noexcept {
    switch (value) {
    case outcome::passes:
        return "passes";
    case outcome::traveller_falls:
        return "traveller falls";
    case outcome::keeper_falls:
        return "keeper falls";
    }
    return "unknown";
}

std::string words_of(std::string_view answer) {
    std::string words;
    bool gap = false;
    for (const char c : answer) {
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                            (c >= '0' && c <= '9') || static_cast<unsigned char>(c) >= 0x80;
        if (!letter) {
            gap = true;
            continue;
        }
        if (gap && !words.empty())
            words += ' ';
        gap = false;
        words += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return words;
}

third_question third_question_for(std::string_view name) {
    const std::string words = words_of(name);
    const bool royal =
        has_word(words, "arthur") || has_word(words, "king") || has_word(words, "queen");
    return royal ? third_question::swallow : third_question::colour;
}

outcome judge(std::string_view name, std::string_view quest, std::string_view third) {
    const answers given{third_question_for(name), words_of(quest), words_of(third)};
    return std::ranges::find_if(rules, [&](const rule& r) { return r.applies(given); })->result;
}

} // namespace three_questions
