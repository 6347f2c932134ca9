#include "handshake_place.hpp"

#include <memory>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/inline_scheduler.hpp>

using namespace std::chrono_literals;
using rota::io::tls::handshake_place;

TEST_CASE("of too many handshakes the oldest is given up, once") {
    handshake_place place;
    std::vector<std::unique_ptr<handshake_place::entry>> all;
    for (int i = 0; i < 3; ++i)
        all.push_back(std::make_unique<handshake_place::entry>(place, 3));
    CHECK_FALSE(all[0]->given_up());
    all.push_back(std::make_unique<handshake_place::entry>(place, 3));
    CHECK(all[0]->given_up());
    CHECK(all[0]->token().stop_requested());
    CHECK_FALSE(all[1]->given_up());
    CHECK(place.under_way() == 3);
    all.erase(all.begin() + 2); // one in the middle has ended
    CHECK(place.under_way() == 2);
    all.push_back(std::make_unique<handshake_place::entry>(place, 3));
    CHECK_FALSE(all[1]->given_up());
    all.push_back(std::make_unique<handshake_place::entry>(place, 3));
    CHECK(all[1]->given_up());
    all.clear();
    CHECK(place.under_way() == 0);
}

namespace {

/// How many of 50 heavy steps the worker does by itself.
int own_of_50(handshake_place& place, const rota::worker& home, std::size_t per_second) {
    int own = 0;
    for (int i = 0; i < 50; ++i)
        own += place.elsewhere(home, per_second) ? 0 : 1;
    return own;
}

} // namespace

TEST_CASE("beside a client a worker does so many heavy steps a second by itself") {
    rota::inline_scheduler scheduler;
    handshake_place place;
    rota::worker& home = scheduler.home();
    scheduler.advance(1ms);
    home.note_client();
    CHECK(own_of_50(place, home, 100) == 10);
    scheduler.advance(101ms);
    CHECK_FALSE(place.elsewhere(home, 100));
    handshake_place none;
    CHECK(none.elsewhere(home, 0));
}

TEST_CASE("a worker that has heard of no client lately does all heavy steps by itself") {
    rota::inline_scheduler scheduler;
    handshake_place place;
    rota::worker& home = scheduler.home();
    scheduler.advance(1ms);
    CHECK(own_of_50(place, home, 100) == 50);
    CHECK(own_of_50(place, home, 0) == 0);
    home.note_client();
    CHECK(own_of_50(place, home, 100) == 10);
    scheduler.advance(9'999ms);
    CHECK(own_of_50(place, home, 100) == 10);
    scheduler.advance(101ms);
    CHECK(own_of_50(place, home, 100) == 50);
    std::vector<std::unique_ptr<handshake_place::entry>> all;
    while (all.size() < 64)
        all.push_back(std::make_unique<handshake_place::entry>(place, 1'000));
    CHECK(own_of_50(place, home, 100) == 50);
    all.push_back(std::make_unique<handshake_place::entry>(place, 1'000));
    CHECK(own_of_50(place, home, 100) == 10);
}
