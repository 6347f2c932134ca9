#include <rota/http/response.hpp>

#include <stdexcept>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "io/temporary_file.hpp"

namespace rota::http {
namespace {

TEST_CASE("responses say what they hold") {
    const response text = response::text("short");
    CHECK(text.status() == 200);
    CHECK(text.body() == "short");
    CHECK(text.length() == 5);
    CHECK(text.headers().find("Content-Type") == "text/plain; charset=utf-8");
    CHECK(response::html("").headers().find("content-type") == "text/html; charset=utf-8");
    CHECK(response::json("{}").headers().find("content-type") == "application/json");
    CHECK(response::with_body("x", "image/x").headers().find("content-type") == "image/x");
    CHECK(response::fixed("x", "image/x").headers().find("content-type") == "image/x");
    CHECK(response::redirect("/there").status() == 302);
    CHECK(response::redirect("/there", 307).headers().find("location") == "/there");
    CHECK(response::redirect("http://a/b c?d=%20&e#f\\\xc3\xa4").headers().find("location") ==
          "http://a/b%20c?d=%20&e#f%5C%C3%A4");
    CHECK(response::redirect("http://[::1]:80/~a;b='(c)*+,!$@").headers().find("location") ==
          "http://[::1]:80/~a;b='(c)*+,!$@");
    for (const auto& [to, location] : {std::pair("/a%zz", "/a%25zz"),
                                       {"/a%", "/a%25"},
                                       {"/a%4", "/a%254"},
                                       {"/%%41", "/%25%41"},
                                       {"/100%?q=50%#1%", "/100%25?q=50%25#1%25"},
                                       {"/a#b#c?#", "/a#b%23c?%23"},
                                       {"/a%23b#c", "/a%23b#c"}})
        CHECK(response::redirect(to).headers().find("location") == location);
    CHECK(response::with_body("x", " ").headers().empty());
    CHECK(response(404).length() == 0);

    const auto producer = [](body_writer&) -> task<void> { co_return; };
    CHECK_FALSE(response::stream(producer).length());
    CHECK(response::stream(9, producer).length() == 9);
    CHECK(response::stream(9, producer).streamed());
}

TEST_CASE("the content of a file is elsewhere") {
    const io::test::temporary_file file("0123456789");
    response first = response::file(file.slice(3, 4), "text/plain");
    CHECK(first.is_file());
    CHECK_FALSE(first.streamed());
    CHECK_FALSE(first.is_whole());
    CHECK_FALSE(first.takes_over());
    CHECK(first.body().empty());
    CHECK(first.length() == 4);
    response second = std::move(first);
    CHECK(second.file_content().offset == 3);
    second.stream_file();
    CHECK(second.streamed());
    CHECK(second.length() == 4);
    CHECK_THROWS_AS(response::file(file.slice(), "a\nb"), std::invalid_argument);
    CHECK(response::file(file.slice(10, 0), "text/plain").length() == 0);
    CHECK_THROWS_AS(response::file(file.slice(3, 8), "text/plain"), std::invalid_argument);
    CHECK_THROWS_AS(response::file(file.slice(11, 0), "text/plain"), std::invalid_argument);
    CHECK_THROWS_AS(response::file({}, "text/plain"), std::invalid_argument);
}

TEST_CASE("content is shared without a copy") {
    const shared_body page(std::string(100, 'x'));
    response first = response::shared(page, "text/html");
    CHECK(first.is_whole());
    CHECK_FALSE(first.is_fixed());
    CHECK(first.headers().find("Content-Type") == "text/html");
    CHECK(first.length() == 100);
    const response second = std::move(first);
    CHECK(second.body().data() == page.view().data());
    CHECK(second.shared_content().view().data() == page.view().data());
    CHECK_THROWS_AS(response::shared(page, "a\nb"), std::invalid_argument);

    response owned = response::text(std::string(100, 'y'));
    const void* const at = owned.body().data();
    CHECK(owned.shared_content().view() == owned.body());
    owned.share_owned();
    owned.share_owned();
    CHECK(owned.body().data() == at);
    CHECK(owned.length() == 100);
    CHECK(owned.take_owned_body().empty());
    CHECK(owned.shared_content().view().data() == at);

    response fixed = response::fixed("static");
    fixed.share_owned();
    CHECK(fixed.is_fixed());
    CHECK(fixed.shared_content().view().data() == fixed.body().data());
}

TEST_CASE("a body survives moves, be it short or long") {
    for (const std::size_t size : {1U, 15U, 16U, 1'000U}) {
        response first =
            response::text(std::string(size, 'x')).status(201).header("A", "b").close();
        response second = std::move(first);
        response third;
        third = std::move(second);
        CHECK(third.body() == std::string(size, 'x'));
        CHECK(third.status() == 201);
        CHECK(third.headers().find("A") == "b");
        CHECK(third.closes());
        CHECK(third.take_owned_body() == std::string(size, 'x'));
    }
}

TEST_CASE("what cannot be sent is refused where it is made") {
    for (const int status : {0, 100, 199, 600, -1, 70'000}) {
        CHECK_THROWS_AS(response(status), std::invalid_argument);
        CHECK_THROWS_AS(response().status(status), std::invalid_argument);
    }
    CHECK_THROWS_AS(response::redirect("/a\r\nX: y"), std::invalid_argument);
    for (int status : {200, 299, 400, 503, 0})
        CHECK_THROWS_AS(response::redirect("/a", status), std::invalid_argument);
    CHECK_THROWS_AS(response::with_body("", "a\nb"), std::invalid_argument);
    CHECK_THROWS_AS(response::stream(body_producer()), std::invalid_argument);
}

} // namespace
} // namespace rota::http
