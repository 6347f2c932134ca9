#include "rules.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace three_questions;

namespace {

struct crossing {
    const char* name;
    const char* quest;
    const char* third;
    outcome result;
};

} // namespace

TEST_CASE("the rule table") {
    const auto row = GENERATE(values<crossing>({
        {"Lancelot", "To find the grail", "Blue", outcome::passes},
        {"lancelot", "the GRAIL!", "  green. ", outcome::passes},
        {"Galahad", "I seek the grail", "Blue. No, yellow", outcome::traveller_falls},
        {"Robin", "The grail, what else", "I do not know", outcome::traveller_falls},
        {"Robin", "The grail", "greenish", outcome::traveller_falls},
        {"Bedevere", "A new ladder", "Red", outcome::traveller_falls},
        {"Arthur, king", "The grail", "African or European?", outcome::keeper_falls},
        {"Queen Anne", "My grail", "A european one?", outcome::keeper_falls},
        {"Arthur", "The grail", "11 metres a second", outcome::traveller_falls},
        {"Arthur", "The grail", "Blue", outcome::traveller_falls},
        {"Arthur", "Lunch", "African or European?", outcome::traveller_falls},
        {"Kingsley", "The grail", "Red", outcome::passes},
    }));
    CAPTURE(row.name, row.quest, row.third, to_string(row.result));
    CHECK(judge(row.name, row.quest, row.third) == row.result);
}

TEST_CASE("royal travellers are asked about birds") {
    CHECK(third_question_for("King Arthur of the Britons") == third_question::swallow);
    CHECK(third_question_for("arthur") == third_question::swallow);
    CHECK(third_question_for("Martha") == third_question::colour);
    CHECK(third_question_for("Kingsley") == third_question::colour);
}

TEST_CASE("the rules look at words only") {
    CHECK(words_of("") == "");
    CHECK(words_of(" ,.!?") == "");
    CHECK(words_of("  Well,  the GRAIL... ") == "well the grail");
    CHECK(words_of("Bl\xc3\xa5") == "bl\xc3\xa5");
}
