#include "jobs/sqlite/file_reserve.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <sys/stat.h>

#include "file_limit.hpp"
#include "stores.hpp"

using jobs::file_reserve;
namespace fs = std::filesystem;

namespace {

/// On the disk, whatever its size.
std::uint64_t bytes_held(const std::string& path) {
    struct stat found {};
    REQUIRE(::stat(path.c_str(), &found) == 0);
    return static_cast<std::uint64_t>(found.st_blocks) * 512;
}

} // namespace

TEST_CASE("a reserve holds room until it is given up, and again afterwards") {
    const scratch_folder folder;
    const std::string path = folder.file("reserve");
    file_reserve reserve(path, 1 << 20);
    CHECK_FALSE(fs::exists(path));
    CHECK_FALSE(reserve.give_up());
    for (int i = 0; i < 2; ++i) {
        REQUIRE(reserve.keep());
        CHECK(fs::file_size(path) == reserve.bytes());
        CHECK(reserve.give_up());
        CHECK(bytes_held(path) == 0);
    }
    CHECK(reserve.keep());
    CHECK(bytes_held(path) >= reserve.bytes());
}

TEST_CASE("what an earlier process has given up is to be as much again") {
    const scratch_folder folder;
    const std::string path = folder.file("reserve");
    std::uint64_t bytes = 0;
    {
        file_reserve first(path, 1 << 20);
        REQUIRE(first.keep());
        bytes = first.bytes();
        CHECK(first.give_up());
    }
    file_reserve second(path, 1 << 20);
    CHECK(second.bytes() == bytes);
    CHECK_FALSE(second.give_up()); // it has nothing
    CHECK(second.keep());
    CHECK(bytes_held(path) >= bytes);
}

TEST_CASE("what an earlier process has left is used, unless it is not whole") {
    const scratch_folder folder;
    const std::string path = folder.file("reserve");
    CHECK(file_reserve(path, 1 << 20).keep());
    file_reserve second(path, 1 << 20);
    CHECK(second.give_up());
    { // holes
        file_reserve third(path, 1 << 20);
        REQUIRE(third.keep());
        fs::resize_file(path, 0);
        fs::resize_file(path, 1 << 20);
    }
    file_reserve fourth(path, 1 << 20);
    CHECK_FALSE(fourth.give_up());
    CHECK(fourth.keep());
    CHECK(fourth.give_up());
}

TEST_CASE("where files may not be so large there is none, and no signal") {
    const scratch_folder folder;
    file_reserve reserve(folder.file("reserve"), 1 << 20);
    {
        const file_limit small(100'000);
        CHECK_FALSE(reserve.keep());
    }
    CHECK(reserve.keep());
}

TEST_CASE("a reserve that is held grows, as far as it may") {
    const scratch_folder folder;
    const std::string path = folder.file("reserve");
    file_reserve reserve(path, 1 << 20);
    {
        const file_limit small(1 << 20);
        file_reserve less(path, 1 << 20);
        REQUIRE(less.keep());
        CHECK(less.bytes() == 1 << 18);
        CHECK(less.grow(1 << 20)); // which is more than it is ever to be
        CHECK(less.bytes() == 1 << 18);
        CHECK(less.leaves_room(3 << 18, 4'096));
        CHECK_FALSE(less.leaves_room((3 << 18) + 1, 4'096));
        CHECK(less.give_up());
        CHECK(less.leaves_room(1 << 20, 4'096));
        CHECK_FALSE(less.leaves_room((1 << 20) + 1, 4'096));
        CHECK_FALSE(less.leaves_room(1 << 20, std::uint64_t{1} << 60));
    }
    REQUIRE(reserve.keep());
    CHECK(reserve.grow(1 << 20));
    CHECK(bytes_held(path) >= reserve.bytes());
}

TEST_CASE("where there can be no file for another reason it is done without") {
    file_reserve reserve("/proc/reserve", 1 << 20);
    CHECK(reserve.bytes() > 0);
    CHECK_FALSE(reserve.give_up());
}
