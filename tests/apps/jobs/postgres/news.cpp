#include "jobs/postgres/news.hpp"

#include <memory>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

using namespace jobs;

namespace {

change some_change(const std::string& queue, std::uint64_t id) {
    change what;
    what.kind = change_kind::retried;
    what.queue = std::make_shared<const std::string>(queue);
    what.id = id;
    what.attempt = 3;
    what.at = 1'800'000'000'000;
    what.due = 1'800'000'000'500;
    return what;
}

} // namespace

TEST_CASE("news are read as they were written") {
    const std::vector<std::string> pieces = write_news(
        "me", "a schema", {some_change("a", 1), some_change("a", 2), some_change("b", 3)});
    REQUIRE(pieces.size() == 1);
    const auto read = read_news(pieces[0]);
    REQUIRE(read);
    CHECK(read->sender == "me");
    CHECK(read->schema == "a schema");
    CHECK(read->queues.empty());
    REQUIRE(read->changes.size() == 3);
    CHECK(*read->changes[1].queue == "a");
    CHECK(*read->changes[2].queue == "b");
    CHECK(read->changes[2].kind == change_kind::retried);
    CHECK(read->changes[2].id == 3);
    CHECK(read->changes[2].attempt == 3);
    CHECK(read->changes[2].at == 1'800'000'000'000);
    CHECK(read->changes[2].due == 1'800'000'000'500);
}

TEST_CASE("pieces of news are short, and of what is too much the queues are told") {
    std::vector<change> many;
    for (std::uint64_t i = 0; i < 1'000; ++i)
        many.push_back(some_change(i < 900 ? "a" : "b", i));
    const std::vector<std::string> pieces = write_news("me", "s", many, 2);
    REQUIRE(pieces.size() >= 2);
    std::size_t changes = 0;
    std::vector<std::string> queues;
    for (const std::string& piece : pieces) {
        CHECK(piece.size() < 8'000);
        const auto read = read_news(piece);
        REQUIRE(read);
        changes += read->changes.size();
        queues.insert(queues.end(), read->queues.begin(), read->queues.end());
    }
    CHECK(changes > 100);
    CHECK(changes < 1'000);
    CHECK(queues == std::vector<std::string>{"a", "b"});
}

TEST_CASE("what is no news is not read") {
    for (const char* text : {"a\nb\nc", "a\nb\n=q\n1 2 3", "a\nb\n=q\n99 1 1 1 1", "a\nb\n=q\nx",
                             "a\nb\n=q\n1 2 3 4 5 6"}) {
        CAPTURE(text);
        CHECK_FALSE(read_news(text));
    }
}
