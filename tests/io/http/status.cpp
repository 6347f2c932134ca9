#include <rota/http/status.hpp>

#include <catch2/catch_test_macros.hpp>

namespace rota::http {
namespace {

TEST_CASE("statuses have phrases, and some have no content") {
    CHECK(reason_phrase(200) == "OK");
    CHECK(reason_phrase(413) == "Content Too Large");
    CHECK(reason_phrase(431) == "Request Header Fields Too Large");
    CHECK(reason_phrase(299) == "Unknown");
    for (const int status : {100, 101, 199, 204, 304})
        CHECK(status_has_no_content(status));
    for (const int status : {200, 201, 205, 303, 400, 500})
        CHECK_FALSE(status_has_no_content(status));
}

} // namespace
} // namespace rota::http
