#include "handle_state.hpp"

#include <catch2/catch_test_macros.hpp>

using rota::io::handle_state;

TEST_CASE("a handle that goes elsewhere has its object closed") {
    handle_state state;
    CHECK(state.held());
    CHECK(state.let_go_elsewhere());
    CHECK(!state.held());
    CHECK(!state.make_stray()); // the close is on its way
    CHECK(!state.outlived());
    CHECK(!state.dead());
}

TEST_CASE("a stray that is let go ends by itself") {
    handle_state state;
    CHECK(state.make_stray());
    CHECK(!state.make_stray());
    CHECK(!state.let_go_elsewhere());
    CHECK(state.let_go_stray());
    CHECK(!state.outlived());
}

TEST_CASE("a stray that has ended is its handle's") {
    handle_state state;
    CHECK(!state.outlived()); // while it is held it just goes
    CHECK(state.make_stray());
    CHECK(state.outlived());
    CHECK(state.dead());
    CHECK(!state.let_go_elsewhere());
    CHECK(!state.let_go_stray());
}
