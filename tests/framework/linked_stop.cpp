#include <rota/linked_stop.hpp>

#include <array>
#include <stop_token>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>

TEST_CASE("any of its tokens requests it, and so does it itself") {
    for (const int which : {0, 1, 2, 3}) {
        std::array<std::stop_source, 3> sources;
        rota::linked_stop stop(sources[0].get_token(), sources[1].get_token(),
                               sources[2].get_token());
        const std::stop_token token = stop.token();
        REQUIRE_FALSE(token.stop_requested());
        if (which < 3)
            sources[static_cast<std::size_t>(which)].request_stop();
        else
            stop.request_stop();
        REQUIRE(token.stop_requested());
        for (int i = 0; i < 3; ++i) // and none of the others
            REQUIRE(sources[static_cast<std::size_t>(i)].stop_requested() == (i == which));
    }
}

TEST_CASE("a token that was requested before counts, one that never can be does not") {
    std::stop_source before;
    before.request_stop();
    REQUIRE(rota::linked_stop(std::stop_token(), before.get_token()).token().stop_requested());
    rota::linked_stop alone{std::stop_token()};
    REQUIRE_FALSE(alone.token().stop_requested());
    REQUIRE(alone.token().stop_possible());
}

TEST_CASE("its token outlives it, and hears nothing more") {
    std::stop_source source;
    std::stop_token token;
    {
        const rota::linked_stop stop(source.get_token());
        token = stop.token();
    }
    source.request_stop();
    REQUIRE_FALSE(token.stop_requested());
}

TEST_CASE("tokens are requested on other threads while it comes and goes") {
    for (int round = 0; round < 200; ++round) {
        std::stop_source one;
        std::stop_source other;
        const rota::linked_stop stays(one.get_token(), other.get_token());
        std::vector<std::jthread> threads;
        for (std::stop_source* const source : {&one, &other})
            threads.emplace_back([source] { source->request_stop(); });
        while (!one.stop_requested())
            const rota::linked_stop goes(one.get_token(), other.get_token());
        threads.clear(); // joins them
        REQUIRE(stays.token().stop_requested());
    }
}
