#include <rota/http/trace_context.hpp>

#include <string>
#include <string_view>

#include <catch2/catch_test_macros.hpp>

namespace rota::http {
namespace {

const std::string trace = "0af7651916cd43dd8448eb211c80319c";
const std::string parent = "b7ad6b7169203331";

/// "trace parent sampled", "-" for what is malformed.
std::string read(std::string_view text) {
    const auto got = parse_traceparent(text);
    if (!got)
        return "-";
    return std::string(got->trace_id.data(), 32) + ' ' + std::string(got->parent_id.data(), 16) +
           (got->sampled ? " yes" : " no");
}

} // namespace

TEST_CASE("traceparent") {
    const std::string both = "00-" + trace + '-' + parent;
    CHECK(read(both + "-01") == trace + ' ' + parent + " yes");
    CHECK(read(both + "-00") == trace + ' ' + parent + " no");
    CHECK(read(both + "-ff") == trace + ' ' + parent + " yes"); // other flags mean nothing yet
    CHECK(read(both + "-fe") == trace + ' ' + parent + " no");
    const std::string later = "cc-" + trace + '-' + parent;
    CHECK(read(later + "-01") == trace + ' ' + parent + " yes");
    CHECK(read(later + "-01-what-comes") == trace + ' ' + parent + " yes");
    CHECK(read(later + "-01.what") == "-");
    CHECK(read(both + "-01-what-comes") == "-");
    CHECK(read("ff-" + trace + '-' + parent + "-01") == "-");
    CHECK(read("00-" + std::string(32, '0') + '-' + parent + "-01") == "-");
    CHECK(read("00-" + trace + '-' + std::string(16, '0') + "-01") == "-");
    CHECK(read("00-" + trace.substr(1) + "A-" + parent + "-01") == "-");
    for (const std::string& wrong :
         {std::string(), std::string("00"), std::string("00-"), both, both + '-', both + "-1",
          both + "-0g", both + "_01", ' ' + both + "-01", both + "-01 ", "0-" + both + "-01",
          "00-" + trace + parent + "-01", "000-" + trace + '-' + parent + "-01"}) {
        CAPTURE(wrong);
        CHECK(read(wrong) == "-");
    }
    // Whatever is cut off of it.
    for (std::size_t i = 0; i < both.size() + 3; ++i)
        CHECK(read((both + "-01").substr(0, i)) == "-");
}

TEST_CASE("what goes on with a trace names the span of this server") {
    auto got = parse_traceparent("00-" + trace + '-' + parent + "-01");
    REQUIRE(got);
    got->span_id.fill('7');
    CHECK(got->to_string() == "00-" + trace + "-7777777777777777-01");
    got->sampled = false;
    CHECK(got->to_string() == "00-" + trace + "-7777777777777777-00");
}

} // namespace rota::http
