#include <rota/io/shared_bytes.hpp>

#include <string>

#include <catch2/catch_test_macros.hpp>

using rota::io::shared_bytes;

TEST_CASE("copies show the same bytes") {
    shared_bytes copy;
    CHECK(copy.size() == 0);
    CHECK(copy.view().empty());
    {
        const std::string text(1000, 'x');
        const shared_bytes bytes(text);
        copy = bytes;
        CHECK(copy.view().data() == bytes.view().data());
        CHECK(bytes.view().data() != text.data());
    }
    CHECK(copy.view() == std::string(1000, 'x'));
}

TEST_CASE("pieces become one") {
    const shared_bytes bytes({"ann", "", ": ", "hello\n"});
    CHECK(bytes.view() == "ann: hello\n");
    CHECK(bytes.size() == 11);
    CHECK(shared_bytes("").view().empty());
}
