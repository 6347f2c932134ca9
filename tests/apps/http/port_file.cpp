#include "port_file.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>

#include <sys/stat.h>

#include <catch2/catch_test_macros.hpp>

using rota_http::port_file;
namespace fs = std::filesystem;

namespace {

std::string line_of(const fs::path& path) {
    std::ifstream in(path);
    std::string line;
    std::getline(in, line);
    return line;
}

} // namespace

TEST_CASE("a port file is there as long as the program, unless another has written it") {
    std::string name = fs::temp_directory_path() / "rota-port-XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    const fs::path path = fs::path(name) / "port";
    std::optional<port_file> first(std::in_place, path, std::uint16_t{8080});
    CHECK(line_of(path) == "8080");
    std::optional<port_file> second(std::in_place, path, std::uint16_t{8081});
    first.reset();
    CHECK(line_of(path) == "8081");
    second.reset();
    CHECK_FALSE(fs::exists(path));
    CHECK_THROWS_AS(port_file(fs::path(name) / "none" / "port", 1), std::system_error);
    fs::remove_all(name);
}

TEST_CASE("a port file takes no other thing's place") {
    std::string name = fs::temp_directory_path() / "rota-port-XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    const fs::path pipe = fs::path(name) / "pipe";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    const fs::path link = fs::path(name) / "link";
    fs::create_symlink(pipe, link);
    for (const fs::path& each : {pipe, link, fs::path(name)}) {
        CHECK_THROWS_AS(port_file(each, 1), std::system_error);
        CHECK(fs::exists(each));
    }
    CHECK(fs::is_fifo(pipe));
    CHECK(fs::is_symlink(link));
    fs::remove_all(name);
}

TEST_CASE("a port file replaces what holds a port or nothing, and no other file") {
    std::string name = fs::temp_directory_path() / "rota-port-XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    const fs::path path = fs::path(name) / "port";
    for (const std::string held : {"", "8080\n", "65535\n", "0"}) {
        std::ofstream(path) << held;
        const port_file told(path, 8081);
        CHECK(line_of(path) == "8081");
    }
    for (const std::string held : {"secret\n", "65536\n", "8080\n8081\n", "8080 ", "\n", "-1\n"}) {
        std::ofstream(path) << held;
        CHECK_THROWS_AS(port_file(path, 8081), std::system_error);
        std::ifstream in(path);
        CHECK(std::string(std::istreambuf_iterator<char>(in), {}) == held);
    }
    fs::remove_all(name);
}

TEST_CASE("a port file touches nothing beside it, and no link to it in its place") {
    std::string name = fs::temp_directory_path() / "rota-port-XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    const fs::path path = fs::path(name) / "port";
    const fs::path beside = fs::path(name) / "port.new";
    std::ofstream(beside) << "keep";
    {
        const port_file told(path, 8081);
        CHECK(line_of(path) == "8081");
        CHECK(std::distance(fs::directory_iterator(name), fs::directory_iterator()) == 2);
        fs::rename(path, fs::path(name) / "moved");
        fs::create_symlink("moved", path);
    }
    CHECK(line_of(beside) == "keep");
    CHECK(fs::is_symlink(path));
    fs::remove_all(name);
}
