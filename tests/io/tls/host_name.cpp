#include "host_name.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace rota::io::tls;

TEST_CASE("hosts are compared in lower case, without a port") {
    CHECK(lower_host("A.Test.") == "a.test");
    CHECK(host_of("A.test:443") == "a.test");
    CHECK(host_of("[2001:DB8::1]:443") == "2001:db8::1");
    CHECK(host_of("[::1]") == "::1");
    CHECK(host_of("[::1") == "::1");
    CHECK(host_of("").empty());
    CHECK(is_address("127.0.0.1"));
    CHECK(is_address("::1"));
    CHECK_FALSE(is_address("a.test"));
    CHECK_FALSE(is_address(""));
}

TEST_CASE("an exact name comes before a wildcard, which stands for one label") {
    name_index index;
    index.add("*.a.test", 1);
    index.add("x.a.test", 2);
    index.add("x.a.test", 3);
    index.add("*.b.a.test", 4);
    CHECK(index.find("x.a.test") == 2);
    CHECK(index.find("y.a.test") == 1);
    CHECK(index.find("y.b.a.test") == 4);
    CHECK(index.find("b.a.test") == 1);
    CHECK_FALSE(index.find("a.test").has_value());
    CHECK_FALSE(index.find(".a.test").has_value());
    CHECK_FALSE(index.find("*").has_value());
    CHECK_FALSE(index.find("").has_value());
    CHECK(covers({"a.test", "*.b.test"}, "x.b.test"));
    CHECK(covers({"a.test", "*.b.test"}, "a.test"));
    CHECK_FALSE(covers({"a.test", "*.b.test"}, "b.test"));
    CHECK_FALSE(covers({"a.test", "*.b.test"}, "x.y.b.test"));
    CHECK_FALSE(covers({"*."}, "localhost"));
}
