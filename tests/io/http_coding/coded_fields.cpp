#include "coded_fields.hpp"

#include <stdexcept>

#include <catch2/catch_test_macros.hpp>

#include <rota/http/coding.hpp>
#include <rota/http/detail/vary.hpp>

#include "fields_made.hpp"

namespace rota::http {
namespace {

using test::fields_made;

TEST_CASE("types are matched without parameters and case, the first pattern that fits counts") {
    const type_list usual(default_coded_types());
    for (const auto* const coded :
         {"text/html", "text/plain; charset=utf-8", "TEXT/CSS", "text/javascript ;a=b",
          "application/json", "application/problem+json", "application/ld+JSON", "image/svg+xml",
          "application/xhtml+xml", "application/x-ndjson", "application/wasm", "font/ttf"}) {
        INFO(coded);
        CHECK(usual.contains(coded));
    }
    for (const auto* const left :
         {"image/png", "image/jpeg", "video/mp4", "audio/mpeg", "application/zip",
          "application/gzip", "application/octet-stream", "application/pdf", "font/woff2",
          "text/event-stream", "text/event-stream; charset=utf-8", "text", "text/", "", "json",
          "+json", "multipart/byteranges"}) {
        INFO(left);
        CHECK(!usual.contains(left));
    }
    const type_list own({"!text/css", "text/*", "a/b"});
    CHECK(own.contains("text/html"));
    CHECK(!own.contains("text/css"));
    CHECK(own.contains("A/B"));
    CHECK(!own.contains("application/json"));
    for (const auto* const wrong :
         {"text", "", "!", "a b/c", "/", "*+", "text/html; charset=utf-8"})
        CHECK_THROWS_AS(type_list({wrong}), std::invalid_argument);
}

TEST_CASE("what may not be touched is known by its fields") {
    headers fields;
    CHECK(!must_stay(fields));
    fields.set("Cache-Control", "max-age=3, public");
    CHECK(!must_stay(fields));
    fields.add("cache-control", "No-Transform");
    CHECK(must_stay(fields));
    headers coded;
    coded.set("Content-Encoding", "gzip");
    CHECK(must_stay(coded));
    headers part;
    part.set("Content-Range", "bytes 0-1/2");
    CHECK(must_stay(part));
}

TEST_CASE("Accept-Encoding is added to what is in Vary") {
    const auto with = [](std::initializer_list<std::string_view> values) {
        headers fields;
        fields.add("A", "b");
        for (const std::string_view each : values)
            fields.add("Vary", each);
        fields.add("Z", "z");
        add_to_vary(fields, "Accept-Encoding");
        CHECK(fields.find("A") == "b");
        CHECK(fields.find("Z") == "z");
        const std::string first(fields.find("Vary").value_or(""));
        fields.remove("Vary");
        return first + (fields.find("Vary") ? " and more" : "");
    };
    CHECK(with({}) == "Accept-Encoding");
    CHECK(with({"Accept"}) == "Accept, Accept-Encoding");
    CHECK(with({"Accept", "Origin, Cookie"}) == "Accept, Origin, Cookie, Accept-Encoding");
    CHECK(with({"Accept, accept-encoding"}) == "Accept, accept-encoding");
    CHECK(with({"*"}) == "*");
    CHECK(with({"Accept-Encoding-X"}) == "Accept-Encoding-X, Accept-Encoding");
}

TEST_CASE("what is coded says so, and is no more the same byte for byte") {
    headers fields;
    fields.add("ETag", "\"a\"");
    fields.add("Accept-Ranges", "bytes");
    fields.add("Content-MD5", "x");
    fields.add("Repr-Digest", "x");
    fields.add("Last-Modified", "then");
    mark_coded(fields, coding::format::br);
    CHECK(fields.find("Content-Encoding") == "br");
    CHECK(fields.find("ETag") == "W/\"a\"");
    CHECK(fields.find("Last-Modified") == "then");
    for (const auto* const gone : {"Accept-Ranges", "Content-MD5", "Repr-Digest"})
        CHECK(!fields.find(gone));
    headers weak;
    weak.add("ETag", "W/\"a\"");
    mark_coded(weak, coding::format::gzip);
    CHECK(weak.find("ETag") == "W/\"a\"");
}

TEST_CASE("the tag of a 304 is the one that the client has") {
    const auto with = [](std::string_view known) {
        headers fields;
        fields.add("ETag", "\"a\"");
        match_etag(fields, fields_made{{"If-None-Match", known}}.list());
        return std::string(*fields.find("ETag"));
    };
    CHECK(with("W/\"a\"") == "W/\"a\"");
    CHECK(with("\"b\", W/\"a\"") == "W/\"a\"");
    CHECK(with("\"a\"") == "\"a\"");
    CHECK(with("W/\"a\", \"a\"") == "\"a\"");
    CHECK(with("*") == "W/\"a\"");
}

} // namespace
} // namespace rota::http
