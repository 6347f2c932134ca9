#include "negotiation.hpp"

#include <array>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "fields_made.hpp"

namespace rota::http {
namespace {

using coding::format;
using test::fields_made;

constexpr std::array all{format::zstd, format::br, format::gzip};

/// "zstd", "br", "gzip"; "-": as it is; "406": neither.
std::string chosen(const fields_made& asked) {
    const coding_choice choice = choose_coding(asked.list(), all);
    if (choice.coding)
        return std::string(coding::to_string(*choice.coding));
    return choice.nothing() ? "406" : "-";
}

std::string chosen(std::string_view accept) {
    return chosen(fields_made{{"Accept-Encoding", accept}});
}

TEST_CASE("without Accept-Encoding, or with an empty one, nothing is coded") {
    CHECK(chosen(fields_made{}) == "-");
    CHECK(chosen(fields_made{{"Accept", "gzip"}}) == "-");
    for (const auto* const nothing : {"", " ", ",", " , ,", "\t"})
        CHECK(chosen(nothing) == "-");
}

struct expected {
    std::string_view accept;
    std::string_view coding;
};

TEST_CASE(
    "the coding that the client likes most is chosen, the server's of those it likes the same") {
    constexpr expected table[] = {
        {"gzip", "gzip"},
        {"br", "br"},
        {"zstd", "zstd"},
        {"x-gzip", "gzip"},
        {"deflate", "-"},
        {"compress", "-"},
        {"identity", "-"},
        {"gzip, br", "br"},
        {"br, gzip", "br"},
        {"gzip, br, zstd", "zstd"},
        {"gzip, deflate, br, zstd", "zstd"},
        {"gzip, deflate", "gzip"},
        {"deflate, gzip;q=1.0, *;q=0.5", "gzip"},
        {"gzip;q=1, br;q=0.9", "gzip"},
        {"gzip;q=0.9, br;q=0.8, zstd;q=0.7", "gzip"},
        {"gzip;q=0.5, br;q=0.50, zstd;q=0.500", "zstd"},
        {"gzip;q=0.999, br;q=1", "br"},
        {"gzip;q=0.001", "gzip"},
        {"gzip;q=0.001, br;q=0.002", "br"},
        {"gzip;q=1.000", "gzip"},
        {"gzip;q=1.", "gzip"},
        {"gzip;q=0.", "-"},
        {"gzip;q=0.0", "-"},
        {"gzip;q=0.000", "-"},
        {"gzip;q=0", "-"},
        {"gzip;q=0, br", "br"},
        {"GZIP", "gzip"},
        {"GZip, BR;Q=0.5", "gzip"},
        {"ZSTD;Q=0.5,br;q=0.4", "zstd"},
        {"gzip ; q=0.5 , br ; q=0.6", "br"},
        {"gzip\t;\tq=0.5", "gzip"},
        {",gzip,,", "gzip"},
    };
    for (const auto& [accept, coding] : table) {
        INFO(accept);
        CHECK(chosen(accept) == coding);
    }
}

TEST_CASE("a star stands for what is not named, the content as it is among it") {
    constexpr expected table[] = {
        {"*", "zstd"},
        {"*;q=0.001", "zstd"},
        {"*;q=0", "406"},
        {"*;q=0.0, gzip", "gzip"},
        {"gzip, *;q=0", "gzip"},
        {"gzip;q=0, *", "zstd"},
        {"gzip;q=0, *;q=0", "406"},
        {"zstd;q=0, *", "br"},
        {"zstd;q=0, br;q=0, *", "gzip"},
        {"zstd;q=0, br;q=0, gzip;q=0, *", "-"},
        {"zstd;q=0, br;q=0, gzip;q=0", "-"},
        {"*;q=0.5, gzip;q=0.4", "zstd"},
        {"*;q=0.5, gzip;q=0.6", "gzip"},
        {"identity, *;q=0", "-"},
        {"identity;q=0.001, *;q=0", "-"},
        {"identity;q=0", "406"},
        {"identity;q=0.000", "406"},
        {"identity;q=0, *", "zstd"},
        {"identity;q=0, gzip", "gzip"},
        {"identity;q=0, gzip;q=0", "406"},
        {"identity;q=0, deflate", "406"},
        {"identity;q=0, *;q=0", "406"},
        {"identity;q=1, gzip;q=0.5", "-"},
        {"identity;q=0.5, gzip;q=0.5", "gzip"},
        {"identity, gzip", "gzip"},
        {"identity;q=0.5, *;q=0.1", "-"},
        {"identity;q=0.1, *;q=0.5", "zstd"},
    };
    for (const auto& [accept, coding] : table) {
        INFO(accept);
        CHECK(chosen(accept) == coding);
    }
}

TEST_CASE("an element that is malformed is none") {
    constexpr expected table[] = {
        {"gzip;q=", "-"},       {"gzip;q=x", "-"},
        {"gzip;q=.5", "-"},     {"gzip;q=-1", "-"},
        {"gzip;q=+1", "-"},     {"gzip;q=2", "-"},
        {"gzip;q=1.001", "-"},  {"gzip;q=1.5", "-"},
        {"gzip;q=0.1234", "-"}, {"gzip;q=0,5", "-"},
        {"gzip;q=00.5", "-"},   {"gzip;q=1e0", "-"},
        {"gzip;q=\"1\"", "-"},  {"gzip;q =1", "-"},
        {"gzip;q= 1", "-"},     {"gzip q=1", "-"},
        {"gzip;level=9", "-"},  {"gzipp", "-"},
        {"gzi", "-"},           {"g zip", "-"},
        {"\"gzip\"", "-"},      {"gzip;q=x, br", "br"},
        {"br, gzip;q=x", "br"}, {"*;q=x", "-"},
        {"identity;q=x", "-"},  {"identity;q=x, gzip", "gzip"},
        {";q=1", "-"},          {"=", "-"},
        {"\xff\xfe", "-"},
    };
    for (const auto& [accept, coding] : table) {
        INFO(accept);
        CHECK(chosen(accept) == coding);
    }
}

TEST_CASE("several fields are one list") {
    CHECK(chosen(fields_made{{"Accept-Encoding", "gzip"}, {"accept-encoding", "br"}}) == "br");
    CHECK(chosen(fields_made{{"Accept-Encoding", ""}, {"Accept-Encoding", "gzip"}}) == "gzip");
    CHECK(chosen(fields_made{{"Accept-Encoding", "identity;q=0"},
                             {"A", "b"},
                             {"ACCEPT-ENCODING", "*;q=0"}}) == "406");
}

TEST_CASE("only what there is is offered") {
    const fields_made any{{"Accept-Encoding", "*"}};
    constexpr std::array one{format::gzip};
    CHECK(choose_coding(any.list(), one).coding == format::gzip);
    CHECK(!choose_coding(any.list(), {}).coding);
    CHECK(choose_coding(any.list(), {}).as_it_is);
    const fields_made none{{"Accept-Encoding", "gzip, identity;q=0"}};
    CHECK(choose_coding(none.list(), {}).nothing());
}

TEST_CASE("the codings of a request are known by their names, in their order") {
    const auto of = [](std::string_view list) {
        const fields_made sent{{"Content-Encoding", list}};
        const auto found = applied_codings(sent.list(), 3);
        std::string text;
        for (const format each : found.value_or(std::vector<format>{}))
            text.append(text.empty() ? "" : " ").append(coding::to_string(each));
        return found ? text : "415";
    };
    const auto there = [](format each, const char* as) {
        return coding::is_available(each) ? as : "415";
    };
    CHECK(applied_codings(fields_made{}.list(), 3)->empty());
    for (const auto* const nothing : {"", "identity", "Identity, identity", ","})
        CHECK(of(nothing).empty());
    CHECK(of("gzip") == there(format::gzip, "gzip"));
    CHECK(of("X-GZIP") == there(format::gzip, "gzip"));
    CHECK(of(" BR ") == there(format::br, "br"));
    CHECK(of("identity, zstd") == there(format::zstd, "zstd"));
    CHECK(of("gzip, gzip ,gzip") == there(format::gzip, "gzip gzip gzip"));
    for (const auto* const unknown : {"deflate", "compress", "aes128gcm", "gzip;q=1", "gzip zstd",
                                      "gzip, foo", "foo, gzip", "gzip,gzip,gzip,gzip", "*"})
        CHECK(of(unknown) == "415");
    if (coding::is_available(format::gzip)) {
        const fields_made two{{"Content-Encoding", "gzip"}, {"Content-Encoding", "gzip"}};
        CHECK(applied_codings(two.list(), 3)->size() == 2);
        CHECK(!applied_codings(two.list(), 1));
    }
}

} // namespace
} // namespace rota::http
