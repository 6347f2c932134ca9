#include "settings.hpp"

#include <catch2/catch_test_macros.hpp>

#include <optional>
#include <string_view>
#include <vector>

namespace {

std::optional<int> read(std::vector<const char*> words, pace::settings& into) {
    words.insert(words.begin(), "rota-pace");
    return pace::read_command_line(static_cast<int>(words.size()), words.data(), into);
}

std::optional<int> read_url(const char* url, pace::settings& into) {
    return read({"--url", url, "--connections", "3", "--rate", "0.5"}, into);
}

/// `wrong` stands in place of one of the options that are needed, or is one more.
void refuse_arguments(std::vector<const char*> wrong) {
    const std::string_view name = wrong.front();
    wrong.insert(wrong.end(), {"--url", "http://a/"});
    if (name != "--connections")
        wrong.insert(wrong.end(), {"--connections", "3"});
    if (name != "--rate")
        wrong.insert(wrong.end(), {"--rate", "9"});
    pace::settings asked;
    INFO(name << ' ' << wrong[1]);
    CHECK(read(wrong, asked) == 2);
}

} // namespace

TEST_CASE("settings: one stream") {
    pace::settings asked;
    REQUIRE(!read_url("http://127.0.0.1:8080/a/b?c=d", asked));
    CHECK(asked.host == "127.0.0.1");
    CHECK(asked.port == "8080");
    CHECK(asked.light.path == "/a/b?c=d");
    CHECK(asked.light.connections == 3);
    CHECK(asked.light.rate == 0.5);
    CHECK(!asked.heavy);
}

TEST_CASE("settings: the parts of a URL") {
    pace::settings asked;
    REQUIRE(!read_url("http://[::1]", asked));
    CHECK(asked.host == "::1");
    CHECK(asked.port == "80");
    CHECK(asked.light.path == "/");
    for (const char* wrong :
         {"", "127.0.0.1/", "https://a/", "http:///", "http://a/ b", "http://a:/"})
        CHECK(read_url(wrong, asked) == 2);
}

TEST_CASE("settings: two streams") {
    pace::settings asked;
    REQUIRE(
        !read({"--url", "http://a/", "--connections", "1", "--rate", "2", "--seconds", "4",
               "--warmup", "0", "--heavy", "/h", "--heavy-connections", "5", "--heavy-rate", "6"},
              asked));
    CHECK(asked.seconds == 4);
    CHECK(asked.warmup == 0);
    REQUIRE(asked.heavy);
    CHECK(asked.heavy->path == "/h");
    CHECK(asked.heavy->connections == 5);
    CHECK(asked.heavy->rate == 6);
}

TEST_CASE("settings: wrong ones") {
    refuse_arguments({"--connections", "0"});
    refuse_arguments({"--rate", "0"});
    refuse_arguments({"--rate", "-5"});
    refuse_arguments({"--rate", "nan"});
    refuse_arguments({"--rate", "inf"});
    refuse_arguments({"--rate", "fast"});
    refuse_arguments({"--seconds", "0"});
    refuse_arguments({"--warmup", "-1"});
    refuse_arguments({"--heavy", "/h"});
    refuse_arguments({"--heavy-rate", "5"});
    refuse_arguments({"--heavy", "h", "--heavy-connections", "5", "--heavy-rate", "5"});
    refuse_arguments({"--nonsense"});
    pace::settings asked;
    CHECK(read({"--url", "http://a/"}, asked) == 2);
    CHECK(read({"--help"}, asked) == 0);
}
