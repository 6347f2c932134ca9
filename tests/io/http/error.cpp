#include <rota/http/error.hpp>

#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <catch2/catch_test_macros.hpp>

namespace rota::http {
namespace {

TEST_CASE("an http_error carries its answer") {
    try {
        throw http_error(409, "taken");
    } catch (const std::exception& error) {
        CHECK(std::string_view(error.what()) == "taken");
        CHECK(dynamic_cast<const http_error&>(error).status() == 409);
    }
}

TEST_CASE("an http_error keeps a copy of text that is no literal") {
    char buffer[] = "of a buffer";
    const auto caught = [&buffer](int how) -> http_error {
        try {
            const std::runtime_error cause("a reason that is long enough to be on the heap");
            const std::string text("a text that is long enough to be on the heap");
            switch (how) {
            case 0:
                throw http_error(400, cause.what());
            case 1:
                throw http_error(400, text.c_str());
            case 2:
                throw http_error(400, text);
            default:
                throw http_error(400, buffer);
            }
        } catch (const http_error& error) {
            return error;
        }
    };
    const std::vector<http_error> all{caught(0), caught(1), caught(2), caught(3)};
    buffer[0] = '-';
    CHECK(std::string_view(all[0].what()) == "a reason that is long enough to be on the heap");
    CHECK(std::string_view(all[1].what()) == "a text that is long enough to be on the heap");
    CHECK(std::string_view(all[2].what()) == "a text that is long enough to be on the heap");
    CHECK(std::string_view(all[3].what()) == "of a buffer");
    CHECK(all[0].content_type().empty()); // nor is it an answer of its own
    static_assert(std::is_nothrow_constructible_v<http_error, int, literal>);
}

} // namespace
} // namespace rota::http
