#include "deflate_offer.hpp"

#include <catch2/catch_test_macros.hpp>

namespace rota::http::ws {
namespace {

std::string answer(std::string_view offers, const websocket_deflate& may = {}) {
    const deflate_choice chosen = choose_deflate(offers, may);
    if (chosen.malformed)
        return "malformed";
    if (chosen.terms)
        CHECK(chosen.terms->deflate);
    CHECK(chosen.terms.has_value() == !chosen.answer.empty());
    return chosen.answer;
}

struct expected {
    std::string_view offers;
    std::string_view answer;
};

TEST_CASE("what is answered to an offer") {
    constexpr expected table[] = {
        {"permessage-deflate", "permessage-deflate"},
        {" permessage-deflate ; client_max_window_bits ", "permessage-deflate"},
        {"permessage-deflate; server_no_context_takeover",
         "permessage-deflate; server_no_context_takeover"},
        {"permessage-deflate; client_no_context_takeover",
         "permessage-deflate; client_no_context_takeover"},
        {"permessage-deflate; server_max_window_bits=10",
         "permessage-deflate; server_max_window_bits=10"},
        {"permessage-deflate; server_max_window_bits=15",
         "permessage-deflate; server_max_window_bits=15"},
        {"permessage-deflate; server_max_window_bits=8",
         "permessage-deflate; server_max_window_bits=8"},
        {"permessage-deflate; server_max_window_bits=\"9\"",
         "permessage-deflate; server_max_window_bits=9"},
        {"permessage-deflate; client_max_window_bits=10",
         "permessage-deflate; client_max_window_bits=10"},
        {"permessage-deflate; client_max_window_bits=8",
         "permessage-deflate; client_max_window_bits=8"},
        {"permessage-deflate; client_max_window_bits=15", "permessage-deflate"},
        {"permessage-deflate; server_no_context_takeover; client_no_context_takeover; "
         "server_max_window_bits=9; client_max_window_bits=11",
         "permessage-deflate; server_no_context_takeover; client_no_context_takeover; "
         "server_max_window_bits=9; client_max_window_bits=11"},
    };
    for (const expected& each : table)
        CHECK(answer(each.offers) == each.answer);
}

TEST_CASE("offers that are declined, and the next one that is not") {
    constexpr std::string_view declined[] = {
        "x-other",
        "permessage-deflate; unknown",
        "permessage-deflate; unknown=1",
        "permessage-deflate; server_no_context_takeover=1",
        "permessage-deflate; client_no_context_takeover=true",
        "permessage-deflate; server_no_context_takeover; server_no_context_takeover",
        "permessage-deflate; client_no_context_takeover; client_no_context_takeover",
        "permessage-deflate; server_max_window_bits",
        "permessage-deflate; server_max_window_bits=7",
        "permessage-deflate; server_max_window_bits=16",
        "permessage-deflate; server_max_window_bits=08",
        "permessage-deflate; server_max_window_bits=10; server_max_window_bits=10",
        "permessage-deflate; server_max_window_bits=+9",
        "permessage-deflate; server_max_window_bits=x",
        "permessage-deflate; server_max_window_bits=100",
        "permessage-deflate; client_max_window_bits=7",
        "permessage-deflate; client_max_window_bits=16",
        "permessage-deflate; client_max_window_bits=015",
        "permessage-deflate; client_max_window_bits; client_max_window_bits",
        "Permessage-Deflate",
    };
    for (const std::string_view each : declined) {
        CHECK(answer(each).empty());
        CHECK(answer(std::string(each) + ", permessage-deflate; server_max_window_bits=12") ==
              "permessage-deflate; server_max_window_bits=12");
    }
}

TEST_CASE("lists that are none") {
    for (const std::string_view each :
         {"permessage-deflate;", "permessage-deflate; ;", "permessage-deflate; =1", "; a",
          "permessage-deflate; a=", "permessage-deflate; a=\"\"", "permessage deflate",
          "permessage-deflate; a=\"b c\"", "permessage-deflate; a=\"b", "a, \"b\"", "", ", ,"}) {
        CHECK(answer(each) == "malformed");
    }
    CHECK(answer(", ,permessage-deflate,,") == "permessage-deflate");
}

TEST_CASE("what the server wants of its own") {
    CHECK(answer("permessage-deflate", {.server_window_bits = 11, .client_window_bits = 11}) ==
          "permessage-deflate; server_max_window_bits=11");
    CHECK(answer("permessage-deflate; client_max_window_bits", {.client_window_bits = 11}) ==
          "permessage-deflate; client_max_window_bits=11");
    CHECK(answer("permessage-deflate; server_max_window_bits=9", {.server_window_bits = 11}) ==
          "permessage-deflate; server_max_window_bits=9");
    CHECK(answer("permessage-deflate",
                 {.server_keeps_context = false, .client_keeps_context = false}) ==
          "permessage-deflate; server_no_context_takeover; client_no_context_takeover");
}

} // namespace
} // namespace rota::http::ws
