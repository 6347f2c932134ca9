#include <rota/generator.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "death.hpp"

namespace {

/// The dialogue of the Python reference: gen(beg, end).
rota::generator<int, std::string, std::string> count(int first, int last,
                                                     std::vector<std::string>* heard) {
    int i = first;
    while (i < last) {
        std::optional<std::string> received = co_yield i;
        if (received) {
            heard->push_back("received: " + *received);
        }
        ++i;
    }
    co_return "final result is " + std::to_string(i);
}

/// The dialogue of the Scala reference: three values, each answered.
rota::generator<int, std::string> dialogue(std::vector<std::string>* heard) {
    for (int i = 1; i <= 3; ++i) {
        const std::optional<std::string> received = co_yield i;
        heard->push_back(received.value_or("nothing"));
    }
}

rota::generator<std::string> letters() {
    co_yield "x";
    co_yield std::string("y, long enough to be allocated on the heap");
    std::string last = "z";
    co_yield std::move(last);
}

rota::generator<int> failing() {
    co_yield 1;
    throw std::runtime_error("on purpose");
}

rota::generator<int> none() { co_return; }

rota::generator<std::unique_ptr<int>, std::unique_ptr<int>, std::unique_ptr<int>> movers() {
    std::unique_ptr<int> got = std::make_unique<int>(0);
    for (int i = 1; i <= 3; ++i) {
        auto value = std::make_unique<int>(*got + i);
        auto answer = co_yield std::move(value);
        if (answer) {
            got = std::move(*answer);
        }
    }
    co_return got;
}

} // namespace

TEST_CASE("Python's example: next, send, next, and the final result") {
    std::vector<std::string> heard;
    auto g = count(0, 3, &heard);
    REQUIRE(g.next() == 0);
    REQUIRE(g.next("a param from caller!") == 1);
    REQUIRE(heard == std::vector<std::string>{"received: a param from caller!"});
    REQUIRE(g.next() == 2);
    REQUIRE_THROWS_AS(g.next(), std::out_of_range);
    REQUIRE(g.done());
    REQUIRE(g.result() == "final result is 3");
    REQUIRE(heard.size() == 1); // nothing sent, nothing received
}

TEST_CASE("Scala's example: has_more, next, send") {
    std::vector<std::string> heard;
    std::vector<int> yielded;
    auto g = dialogue(&heard);
    while (g.has_more()) {
        yielded.push_back(g.next());
        g.send("Caller sends str " + std::to_string(yielded.back()));
    }
    REQUIRE(yielded == std::vector{1, 2, 3});
    REQUIRE(heard == std::vector<std::string>{"Caller sends str 1", "Caller sends str 2",
                                              "Caller sends str 3"});
    REQUIRE(g.done());
    g.result();
}

TEST_CASE("a value that is sent once is received once") {
    std::vector<std::string> heard;
    auto g = dialogue(&heard);
    g.next();
    g.send(std::string("first"));
    g.send(std::string("instead"));
    REQUIRE(g.next() == 2);
    REQUIRE(g.next() == 3);
    REQUIRE_FALSE(g.has_more());
    REQUIRE(heard == std::vector<std::string>{"instead", "nothing", "nothing"});
}

TEST_CASE("a value cannot be sent where no co_yield waits for it") {
    std::vector<std::string> heard;
    auto g = dialogue(&heard);
    REQUIRE_THROWS_AS(g.send("early"), std::logic_error);
    REQUIRE(g.has_more());
    REQUIRE_THROWS_AS(g.send("the value has not been taken"), std::logic_error);
    REQUIRE(g.next() == 1);
    g.send("now");
    while (g.has_more())
        (void)g.next();
    REQUIRE_THROWS_AS(g.send("late"), std::logic_error);
}

TEST_CASE("has_more does not run past a value that has not been taken") {
    auto g = letters();
    REQUIRE(g.has_more());
    REQUIRE(g.has_more());
    REQUIRE(g.next() == "x");
    REQUIRE(g.next().starts_with("y"));
    REQUIRE(g.has_more());
    REQUIRE(g.next() == "z");
    REQUIRE_FALSE(g.has_more());
    REQUIRE_FALSE(g.has_more());
}

TEST_CASE("an exception comes out of the call that ran the body, and ends it") {
    auto g = failing();
    REQUIRE(g.next() == 1);
    REQUIRE_THROWS_AS(g.has_more(), std::runtime_error);
    REQUIRE(g.done());
    REQUIRE_FALSE(g.has_more());
    REQUIRE_THROWS_AS(g.result(), std::runtime_error);
}

TEST_CASE("an empty generator, and a result asked for too early") {
    auto g = none();
    REQUIRE_THROWS_AS(g.result(), std::logic_error);
    REQUIRE_FALSE(g.has_more());
    g.result();
}

TEST_CASE("values, answers and results are moved") {
    auto g = movers();
    int sum = 0;
    while (g.has_more()) {
        std::unique_ptr<int> value = g.next();
        sum += *value;
        g.send(std::move(value));
    }
    REQUIRE(sum == 1 + 3 + 6);
    REQUIRE(*g.result() == 6);
}

TEST_CASE("a generator that has been moved from ends the program with words") {
    const std::string_view words = "a generator that has been moved from is not used";
    CHECK(last_words([] {
              auto g = letters();
              const auto taken = std::move(g);
              static_cast<void>(g.has_more());
          }).find(words) != std::string::npos);
    CHECK(last_words([] {
              auto g = letters();
              const auto taken = std::move(g);
              static_cast<void>(g.done());
          }).find(words) != std::string::npos);
}

TEST_CASE("a range loop over a generator, and one that is left early") {
    std::string all;
    for (const std::string& s : letters()) {
        all += s.front();
    }
    REQUIRE(all == "xyz");
    auto g = letters();
    for (const std::string& s : g) {
        REQUIRE(s == "x");
        break;
    }
    auto moved = std::move(g);
    REQUIRE(moved.next().starts_with("y"));
}

TEST_CASE("the body of a generator does not ask for its own values") {
    rota::generator<int>* self = nullptr;
    const auto own = [](rota::generator<int>** g) -> rota::generator<int> {
        co_yield 1;
        co_yield (*g)->next();
    };
    auto asked = own(&self);
    self = &asked;
    CHECK(asked.next() == 1);
    CHECK_THROWS_AS(asked.next(), std::logic_error);
    CHECK(asked.done());
    const auto caught = [](rota::generator<int>** g) -> rota::generator<int> {
        bool refused = false;
        try {
            static_cast<void>((*g)->has_more());
        } catch (const std::logic_error&) {
            refused = true;
        }
        co_yield refused ? 2 : 0;
        co_yield 3;
    };
    auto goes_on = caught(&self);
    self = &goes_on;
    CHECK(goes_on.next() == 2);
    CHECK(goes_on.next() == 3);
    CHECK_FALSE(goes_on.has_more());
}
