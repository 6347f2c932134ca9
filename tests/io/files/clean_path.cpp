#include "clean_path.hpp"

#include <catch2/catch_test_macros.hpp>

namespace rota::http {
namespace {

TEST_CASE("a clean path is one of a file or a directory below") {
    for (std::string_view path : {"", "a", "a/", "a/b", "a/b.c/", "a b", "\xc3\xa4", "a..b", "a.",
                                  "...a", "-", "~", "%2e%2e", "a:b", "C:"}) {
        INFO(path);
        CHECK(is_clean_path(path, path.starts_with('.')));
    }
    for (std::string_view path :
         {"/", "/a", "//a", "a//b", "a//", ".", "..", "./", "../", "../a", "a/..", "a/../b",
          "a/./b", "a\\b", "..\\a", "\\", "a\nb", "a\x1f", "a/.."}) {
        INFO(path);
        CHECK_FALSE(is_clean_path(path, true));
        CHECK_FALSE(is_clean_path(path, false));
    }
    CHECK_FALSE(is_clean_path(std::string_view("a\0b", 3), true));
}

TEST_CASE("names that begin with a dot are clean only if they may be") {
    for (std::string_view path : {".a", "a/.b", ".a/b", "...", "a/.b/"}) {
        CHECK_FALSE(is_clean_path(path, false));
        CHECK(is_clean_path(path, true));
    }
}

} // namespace
} // namespace rota::http
