#include <rota/http/token_file.hpp>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rota::http {
namespace {

namespace fs = std::filesystem;

struct scratch {
    scratch() {
        std::string name = fs::temp_directory_path() / "rota-tokens-XXXXXX";
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        folder = name;
        path = folder / "tokens";
    }
    ~scratch() { fs::remove_all(folder); }
    scratch(const scratch&) = delete;
    scratch& operator=(const scratch&) = delete;

    void write(std::string_view text) const { std::ofstream(path, std::ios::binary) << text; }
    /// Half of it is never seen.
    void replace(std::string_view text) const {
        const fs::path half = folder / "half";
        std::ofstream(half, std::ios::binary) << text;
        fs::rename(half, path);
    }
    /// As if it had been like this for long.
    void age() const {
        const timespec long_ago[2] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
        REQUIRE(::utimensat(AT_FDCWD, path.c_str(), long_ago, 0) == 0);
    }

    fs::path folder;
    fs::path path;
};

std::string failure_of(const fs::path& path) {
    try {
        (void)token_file(path);
    } catch (const std::runtime_error& e) {
        const std::string text = e.what();
        const std::string begin = "token file " + path.string() + ": ";
        return text.starts_with(begin) ? text.substr(begin.size()) : "without its path: " + text;
    }
    return "";
}

} // namespace

TEST_CASE("a token a line, without empty lines and comments") {
    const scratch s;
    s.write("# for the workers\nfirst\n\n  second \t\r\n#third\n\t# fourth\nlast=/+~._-!\"#");
    token_file tokens(s.path);
    for (const char* listed : {"first", "second", "last=/+~._-!\"#"}) {
        CAPTURE(listed);
        CHECK(tokens.contains(listed));
    }
    for (const char* other : {"", "firs", "firstt", "First", "first ", "third", "#third",
                              "# fourth", "firstfirst", "secon", "tsrif", "# for the workers"}) {
        CAPTURE(other);
        CHECK_FALSE(tokens.contains(other));
    }
}

TEST_CASE("what differs in one character is another token, wherever it is") {
    const scratch s;
    const std::string token = "0123456789abcdefghijklmnopqrstuvwxyz";
    s.write("another\n" + token + "\n");
    token_file tokens(s.path);
    for (std::size_t i = 0; i < token.size(); ++i) {
        for (const int bit : {0, 1, 6, 7}) {
            std::string other = token;
            other[i] = static_cast<char>(other[i] ^ (1 << bit));
            CHECK_FALSE(tokens.contains(other));
        }
        CHECK_FALSE(tokens.contains(token.substr(0, i)));
        CHECK_FALSE(tokens.contains(token.substr(i + 1)));
    }
    CHECK(tokens.contains(token));
}

TEST_CASE("a file that cannot be used is an error at the start") {
    const scratch s;
    CHECK(failure_of(s.path) == "No such file or directory");
    CHECK(failure_of(s.folder) == "no regular file");
    REQUIRE(::mkfifo((s.folder / "pipe").c_str(), 0600) == 0);
    CHECK(failure_of(s.folder / "pipe") == "no regular file");
    s.write("");
    CHECK(failure_of(s.path) == "no token in it");
    s.write("\n# none\n   \n");
    CHECK(failure_of(s.path) == "no token in it");
    s.write("# one\nright\nnot right\n"); // and its text is not told
    CHECK(failure_of(s.path) == "line 3 is no token");
    s.write("a\x7f");
    CHECK(failure_of(s.path) == "line 1 is no token");
    s.write("\xc3\xb6");
    CHECK(failure_of(s.path) == "line 1 is no token");
    s.write(std::string(65'537, 'a'));
    CHECK(failure_of(s.path) == "more than 64 KiB");
    s.write(std::string(65'536, 'a'));
    CHECK(failure_of(s.path).empty());
}

TEST_CASE("a change counts from the next look on") {
    const scratch s;
    s.write("before\n");
    token_file tokens(s.path);
    CHECK(tokens.contains("before"));
    SECTION("in place") { s.write("behind\n"); }
    SECTION("by another file in its place") { s.replace("behind\n"); }
    SECTION("of a file that has been the same for long") {
        s.age();
        CHECK(tokens.contains("before"));
        s.write("behind\n");
        s.age();
    }
    CHECK(tokens.contains("behind"));
    CHECK_FALSE(tokens.contains("before"));
}

TEST_CASE("changes of one moment are all seen, of the same size as they are") {
    const scratch s;
    s.write("token-0\n");
    token_file tokens(s.path);
    for (int i = 1; i < 10; ++i) {
        s.write("token-" + std::to_string(i) + "\n");
        CHECK(tokens.contains("token-" + std::to_string(i)));
        CHECK_FALSE(tokens.contains("token-" + std::to_string(i - 1)));
    }
}

TEST_CASE("the tokens stay while the file is no good, which is said once, and so is its return") {
    const scratch s;
    s.write("kept\n");
    std::vector<std::string> log;
    token_file tokens(s.path, [&log](std::string_view line) { log.emplace_back(line); });
    std::string problem;
    SECTION("gone") {
        fs::remove(s.path);
        problem = "No such file or directory";
    }
    SECTION("empty") {
        s.write("");
        problem = "no token in it";
    }
    SECTION("malformed") {
        s.write("new\nnot right\n");
        problem = "line 2 is no token";
    }
    for (int i = 0; i < 3; ++i) {
        CHECK(tokens.contains("kept"));
        CHECK_FALSE(tokens.contains("new"));
    }
    REQUIRE(log.size() == 1);
    const std::string begin = "token file " + s.path.string() + ": ";
    CHECK(log[0] == begin + problem + "; the tokens that it had are kept");
    s.replace("new\n");
    CHECK(tokens.contains("new"));
    CHECK_FALSE(tokens.contains("kept"));
    REQUIRE(log.size() == 2);
    CHECK(log[1] == begin + "its tokens can be read again");
    fs::remove(s.path);
    CHECK(tokens.contains("new"));
    CHECK(log.size() == 3); // another failure
}

TEST_CASE("threads look while the file changes") {
    const scratch s;
    s.write("always\nother-0\n");
    token_file tokens(s.path);
    std::atomic<bool> enough = false;
    std::atomic<int> missed = 0;
    std::vector<std::jthread> lookers;
    for (int i = 0; i < 3; ++i) {
        lookers.emplace_back([&] {
            while (!enough) {
                if (!tokens.contains("always"))
                    ++missed;
            }
        });
    }
    for (int i = 1; i < 200; ++i)
        s.replace("always\nother-" + std::to_string(i) + "\n");
    enough = true;
    lookers.clear();
    CHECK(missed == 0);
    CHECK(tokens.contains("other-199"));
}

} // namespace rota::http
