#include <rota/http/detail/trailer_rules.hpp>

#include <string_view>

#include <catch2/catch_test_macros.hpp>

namespace rota::http {
namespace {

TEST_CASE("what has to be known before the content is no trailer, nor is what frames it") {
    for (const std::string_view name :
         {"Content-Length", "transfer-encoding", "Host", "TE", "Trailer", "Connection",
          "Keep-Alive", "Proxy-Connection", "Upgrade", "Content-Type", "Content-Encoding",
          "Authorization", "Cookie", "RANGE", "Expect", "Cache-Control", "Max-Forwards",
          "Proxy-Authorization", "Content-Range"}) {
        CAPTURE(name);
        CHECK_FALSE(may_be_trailer(name));
    }
    for (const std::string_view name : {"X-Sum", "Digest", "ETag", "t", "Hosts", ""})
        CHECK(may_be_trailer(name));
}

} // namespace
} // namespace rota::http
