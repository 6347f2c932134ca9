#include "dialogue.hpp"

#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

using namespace three_questions;

namespace {

struct transcript {
    std::vector<std::string> questions;
    outcome result{};
};

transcript run(const std::vector<std::string>& answers) {
    transcript seen;
    auto keeper = ask_three_questions();
    std::size_t next = 0;
    while (keeper.has_more()) {
        seen.questions.push_back(keeper.next());
        REQUIRE(next < answers.size());
        keeper.send(answers[next++]);
    }
    CHECK(next == answers.size());
    seen.result = keeper.result();
    return seen;
}

} // namespace

TEST_CASE("three questions, then the outcome") {
    const transcript seen = run({"Lancelot", "The grail", "Blue"});
    CHECK(seen.questions.size() == 3);
    CHECK(seen.questions.at(2).find("colour") != std::string::npos);
    CHECK(seen.result == outcome::passes);
}

TEST_CASE("a king is asked for the speed of a swallow") {
    const transcript seen = run({"Arthur", "The grail", "African or European?"});
    CHECK(seen.questions.at(2).find("swallow") != std::string::npos);
    CHECK(seen.result == outcome::keeper_falls);
}

TEST_CASE("whoever mumbles is asked again") {
    const transcript seen = run({"", "?", "Robin", " ", "The grail", "", "Pink"});
    CHECK(seen.questions.size() == 7);
    CHECK(seen.result == outcome::passes);
}

TEST_CASE("no answer at all is asked for again") {
    auto keeper = ask_three_questions();
    const std::string first = keeper.next();
    const std::string second = keeper.next(); // nothing was sent
    CHECK(second.find("name") != std::string::npos);
    CHECK(first != second);
}

TEST_CASE("two dialogues keep their own state") {
    auto one = ask_three_questions();
    auto other = ask_three_questions();
    (void)one.next();
    (void)other.next();
    const std::string to_one = one.next(std::string("Arthur"));
    (void)one.next(std::string("The grail"));
    const std::string to_other = other.next(std::string("Robin"));
    CHECK(to_one == to_other); // both at their second question
    CHECK(other.next(std::string("The grail")).find("colour") != std::string::npos);
}

TEST_CASE("every outcome has last words") {
    CHECK_FALSE(farewell(outcome::passes).empty());
    CHECK(farewell(outcome::traveller_falls).find("gorge") != std::string::npos);
    CHECK(farewell(outcome::keeper_falls).find("keeper") != std::string::npos);
}
