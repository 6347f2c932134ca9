#include <rota/io/shared_bytes.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

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

TEST_CASE("a string is taken over") {
    std::string text(1000, 'x');
    const char* const at = text.data();
    const shared_bytes bytes = shared_bytes::take(std::move(text));
    CHECK(bytes.view().data() == at);
    CHECK(bytes.view() == std::string(1000, 'x'));
    CHECK(shared_bytes::take("short").view() == "short");
    CHECK(shared_bytes::take({}).view().empty());
}

TEST_CASE("bytes that something else holds go with the last copy") {
    const auto held = std::make_shared<std::string>("held");
    {
        const shared_bytes bytes(std::shared_ptr<const char[]>(held, held->data()), held->size());
        const shared_bytes copy = bytes;
        CHECK(copy.view().data() == held->data());
        CHECK(held.use_count() == 3);
    }
    CHECK(held.use_count() == 1);
    constexpr std::string_view text = "static";
    CHECK(shared_bytes::of_static(text).view().data() == text.data());
}
