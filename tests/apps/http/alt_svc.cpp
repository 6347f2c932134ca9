#include "alt_svc.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace rota_http;

TEST_CASE("what Alt-Svc can say") {
    for (const char* const text :
         {"clear", R"(h2=":8443")", R"(h2=":8443"; ma=3600)",
          R"(h2="b.example:443";ma=1 ; persist=1)", R"(h3=":443", h2="[2001:db8::1]:8443"; ma="1")",
          R"(w%3Dx%3Ay="a:80",h2=":1")", R"(h2=":1"; x="")"}) {
        CAPTURE(text);
        CHECK(is_alt_svc(text));
    }
    for (const char* const text : {"",
                                   "garbage",
                                   "Clear",
                                   "clear, clear",
                                   "h2",
                                   "h2=",
                                   "h2=:8443",
                                   R"(h2="8443")",
                                   R"(h2=":0")",
                                   R"(h2=":65536")",
                                   R"(h2=":x")",
                                   R"(h2=":")",
                                   R"(="a:1")",
                                   R"(h2 = ":1")",
                                   R"(h2=":1" h3=":1")",
                                   R"(h2=":1";)",
                                   R"(h2=":1"; ma)",
                                   R"(h2=":1"; ma=)",
                                   R"(h2=":1"; ma=x)",
                                   R"(h2=":1"; ma="1x")",
                                   R"(h2=":1"; ma="")",
                                   R"(h2=":1",)",
                                   R"(,h2=":1")",
                                   R"(h2=":1)",
                                   R"(h2="a b:1")",
                                   R"(h2="http://a:1")",
                                   "h2=\":1\"\n",
                                   "h2=\"\xc3\xbc:1\"",
                                   R"(h2=":1"; ma="a)"}) {
        CAPTURE(text);
        CHECK_FALSE(is_alt_svc(text));
    }
}
