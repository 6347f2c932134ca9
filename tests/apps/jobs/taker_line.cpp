#include "jobs/taker_line.hpp"

#include <string>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/inline_scheduler.hpp>

using namespace jobs;

namespace {

using place_ptr = taker_line::place_ptr;

rota::task<void> wait_for(taker_line* line, place_ptr place, int* turns) {
    co_await line->turn(*place);
    ++*turns;
}

std::vector<taken_job> one_job(const std::string& lease) {
    std::vector<taken_job> jobs(1);
    jobs[0].lease_id = lease;
    return jobs;
}

} // namespace

TEST_CASE("the first leads, and asks for all") {
    rota::inline_scheduler scheduler;
    taker_line line;
    CHECK(line.empty());
    const place_ptr a = line.join({1, 0});
    const place_ptr b = line.join({2, 0});
    const place_ptr c = line.join({3, 0});
    int turns_a = 0;
    int turns_b = 0;
    int turns_c = 0;
    scheduler.spawn(wait_for(&line, a, &turns_a));
    scheduler.spawn(wait_for(&line, b, &turns_b));
    scheduler.spawn(wait_for(&line, c, &turns_c));
    scheduler.run();
    CHECK((turns_a == 1 && turns_b == 0));

    const std::vector<place_ptr> asked = line.ask(2);
    REQUIRE(asked == std::vector{a, b});
    CHECK(taker_line::wanted(*asked[1]).max == 2);
    std::vector<std::vector<taken_job>> answer(2);
    answer[1] = one_job("x");
    CHECK(line.answer(asked, std::move(answer)).empty());
    scheduler.run();
    CHECK(turns_b == 1);
    CHECK(line.jobs(*b).size() == 1);
    // Not all had been asked for, so a leads once more.
    CHECK(line.ask(5) == std::vector{a, c});
    (void)line.leave(*b);
    CHECK_FALSE(line.empty());
    CHECK(line.leave(*a).empty());
    scheduler.run();
    CHECK(turns_c == 1); // leads now
    (void)line.leave(*c);
    CHECK(line.empty());
}

TEST_CASE("what comes for one who has left is given back") {
    taker_line line;
    const place_ptr a = line.join({1, 0});
    const place_ptr b = line.join({1, 0});
    const std::vector<place_ptr> asked = line.ask(9);
    CHECK(line.leave(*b).empty());
    std::vector<std::vector<taken_job>> answer(2);
    answer[0] = one_job("for a");
    answer[1] = one_job("for b");
    CHECK(line.answer(asked, std::move(answer)) == std::vector<std::string>{"for b"});
    CHECK(line.leave(*a).at(0).lease_id == "for a"); // it did not fetch it
    CHECK(line.empty());
}

TEST_CASE("a change makes the first lead") {
    rota::inline_scheduler scheduler;
    taker_line line;
    line.changed(); // nobody is there
    const place_ptr a = line.join({1, 0});
    const std::vector<place_ptr> asked = line.ask(9);
    (void)line.answer(asked, std::vector<std::vector<taken_job>>(1));
    int turns = 0;
    const rota::routine_ptr waiting = scheduler.spawn(wait_for(&line, a, &turns));
    scheduler.run();
    CHECK(turns == 0);
    line.changed();
    scheduler.run();
    CHECK(turns == 1);
    (void)line.leave(*a);
}

TEST_CASE("who was not asked for leads only if there may be more") {
    rota::inline_scheduler scheduler;
    taker_line line;
    const place_ptr a = line.join({1, 0});
    const place_ptr b = line.join({1, 0});
    const place_ptr c = line.join({1, 0});
    int turns_a = 0;
    int turns_c = 0;
    std::vector<std::vector<taken_job>> answer(2);
    SECTION("there was nothing for the last of those who were") {
        (void)line.answer(line.ask(2), std::move(answer));
        scheduler.spawn(wait_for(&line, a, &turns_a));
        scheduler.run();
        CHECK(turns_a == 0);
    }
    SECTION("there was something for all of them") {
        answer[0] = one_job("x");
        answer[1] = one_job("y");
        (void)line.answer(line.ask(2), std::move(answer));
        scheduler.spawn(wait_for(&line, c, &turns_c));
        scheduler.run();
        CHECK(turns_c == 1);
    }
    for (const place_ptr& p : {a, b, c})
        (void)line.leave(*p);
    scheduler.run();
}

TEST_CASE("who does not wait goes when there is nothing for him") {
    taker_line line;
    const place_ptr a = line.join({1, 0});
    const place_ptr b = line.join({1, 0}, false);
    const std::vector<place_ptr> asked = line.ask(1);
    const place_ptr late = line.join({1, 0}, false); // the store may have something for it
    CHECK(line.answer(asked, std::vector<std::vector<taken_job>>(1)).empty());
    CHECK(line.refused(*b));
    CHECK_FALSE(line.refused(*a));
    CHECK_FALSE(line.refused(*late));
    CHECK(line.leave(*b).empty());
    const std::vector<place_ptr> again = line.ask(9);
    REQUIRE(again == std::vector{a, late});
    std::vector<std::vector<taken_job>> answer(2);
    answer[0] = one_job("x");
    CHECK(line.answer(again, std::move(answer)).empty());
    CHECK(line.refused(*late));
    CHECK(line.jobs(*a).size() == 1);
    CHECK(line.empty());
}

TEST_CASE("all who wait can be dismissed, also while one of them asks") {
    rota::inline_scheduler scheduler;
    taker_line line;
    const place_ptr a = line.join({1, 0});
    const place_ptr b = line.join({1, 0});
    int turns_a = 0;
    int turns_b = 0;
    scheduler.spawn(wait_for(&line, a, &turns_a));
    scheduler.spawn(wait_for(&line, b, &turns_b));
    scheduler.run();
    const std::vector<place_ptr> asked = line.ask(10);
    line.dismiss();
    scheduler.run();
    CHECK(turns_b == 1);
    CHECK((line.refused(*a) && line.refused(*b)));
    CHECK(line.empty());
    CHECK(line.leave(*b).empty());
    // What was asked for comes all the same: to whom it reaches, else it goes back.
    std::vector<std::vector<taken_job>> jobs;
    jobs.push_back(one_job("a"));
    jobs.push_back(one_job("b"));
    CHECK(line.answer(asked, std::move(jobs)) == std::vector<std::string>{"b"});
    CHECK(line.jobs(*a).size() == 1);
    CHECK(line.leave(*a).empty());
    const place_ptr c = line.join({1, 0}); // the line goes on
    int turns_c = 0;
    scheduler.spawn(wait_for(&line, c, &turns_c));
    scheduler.run();
    CHECK(turns_c == 1);
}
