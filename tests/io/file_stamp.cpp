#include <rota/io/detail/file_stamp.hpp>

#include <filesystem>
#include <fstream>
#include <string>

#include <fcntl.h>

#include <catch2/catch_test_macros.hpp>

using rota::io::detail::file_stamp;
namespace fs = std::filesystem;

TEST_CASE("a file that is written to, replaced or gone looks another way") {
    std::string name = fs::temp_directory_path() / "rota-stamp-XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    const std::string path = fs::path(name) / "file";
    const auto write = [](const std::string& to, const char* text) {
        std::ofstream(to) << text;
        // As if it were long ago, whatever the clock of the file system.
        const timespec past[] = {{1, 0}, {1, 0}};
        REQUIRE(::utimensat(AT_FDCWD, to.c_str(), past, 0) == 0);
    };
    const file_stamp none(path);
    CHECK(none == file_stamp(path));
    write(path, "one");
    const file_stamp first(path);
    CHECK(first == file_stamp(path));
    CHECK(first != none);
    write(path, "longer");
    const file_stamp longer(path);
    CHECK(longer != first);
    const timespec later[] = {{1, 0}, {1, 1}};
    REQUIRE(::utimensat(AT_FDCWD, path.c_str(), later, 0) == 0);
    CHECK(file_stamp(path) != longer);
    const file_stamp before(path);
    write(path + ".new", "longer");
    fs::rename(path + ".new", path);
    CHECK(file_stamp(path) != before);
    struct stat found {};
    REQUIRE(::stat(path.c_str(), &found) == 0);
    CHECK(file_stamp(found) == file_stamp(path));
    fs::remove(path);
    CHECK(file_stamp(path) == none);
    fs::remove_all(name);
}
