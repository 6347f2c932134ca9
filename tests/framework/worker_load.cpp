#include <rota/detail/worker_load.hpp>

#include <catch2/catch_test_macros.hpp>

TEST_CASE("runnable work weighs first, live connections second") {
    using rota::worker_load;
    REQUIRE(worker_load{.runnable = 0, .connections = 9} <
            worker_load{.runnable = 1, .connections = 0});
    REQUIRE(worker_load{.runnable = 1, .connections = 1} <
            worker_load{.runnable = 1, .connections = 2});
    REQUIRE(worker_load{.runnable = 1, .connections = 2} ==
            worker_load{.runnable = 1, .connections = 2});
}
