#include <rota/detail/load.hpp>

#include <catch2/catch_test_macros.hpp>

TEST_CASE("runnable work weighs first, live connections second") {
    using rota::load;
    REQUIRE(load{.runnable = 0, .connections = 9} < load{.runnable = 1, .connections = 0});
    REQUIRE(load{.runnable = 1, .connections = 1} < load{.runnable = 1, .connections = 2});
    REQUIRE(load{.runnable = 1, .connections = 2} == load{.runnable = 1, .connections = 2});
}
