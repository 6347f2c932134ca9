#include <rota/http/form.hpp>

#include <string>
#include <string_view>

#include <catch2/catch_test_macros.hpp>

#include <rota/http/error.hpp>
#include <rota/http/fields.hpp>
#include <rota/http/media_type.hpp>

namespace rota::http {
namespace {

/// Of a part with this Content-Disposition.
form_part said(const std::string& parameters) {
    return form_part::parse("Content-Disposition: form-data; " + parameters + "\r\n");
}

int status_of(std::string_view head) {
    try {
        (void)form_part::parse(head);
        return 0;
    } catch (const http_error& e) {
        return e.status();
    }
}

int status_of_parameters(const std::string& parameters) {
    return status_of("Content-Disposition: form-data; " + parameters + "\r\n");
}

TEST_CASE("a part has a name, and a file's name where it is one") {
    const form_part field = said("name=\"a b\"");
    CHECK(field.name == "a b");
    CHECK_FALSE(field.is_file());
    CHECK(field.type == "text/plain");
    const form_part file =
        form_part::parse("content-type:  image/png ; x=\"y\" \r\nX-Other: 1\r\n"
                         "CONTENT-DISPOSITION: Form-Data; filename=\"c.png\"; NAME=f\r\n");
    CHECK(file.name == "f");
    CHECK(file.filename == "c.png");
    CHECK(file.type == "image/png ; x=\"y\"");
    CHECK(said("name=\"\"; filename=\"\"").filename == "");
    CHECK(said("name=\"\"").name.empty());
}

TEST_CASE("quotes, backslashes and escapes in names") {
    CHECK(said(R"(name="a\"b\\c\d;e=f")").name == R"(a"b\c\d;e=f)");
    CHECK(said(R"(name=a; filename="C:\dir\x.txt")").filename == R"(C:\dir\x.txt)");
    CHECK(said("name=\"a%22b%0D%0Ac%41\"").name == "a\"b\r\nc%41");
    CHECK(said("name=a; filename=\"%41%22.txt\"").filename == "A\".txt");
    CHECK(said("name=\"\xc3\xa4\xff\"; filename=\"\xc3\xa4.txt\"").filename == "\xc3\xa4.txt");
    const std::string escaped = "Content-Disposition: form-data; name=a; filename=\"%41%22\"\r\n";
    CHECK(form_part::parse(escaped, false).filename == "%41\"");
}

TEST_CASE("where a backslash that escapes would leave no sense it escapes nothing") {
    CHECK(said(R"(name="a\")").name == R"(a\)");
    const form_part both = said(R"(name="a\"; filename="b\")");
    CHECK(both.name == R"(a\)");
    CHECK(both.filename == R"(b\)");
    CHECK(said(R"(name="\\\"; filename="c")").name == R"(\\\)");
    CHECK(said(R"-(name="(\"; filename=")")-").filename == ")");
    CHECK(said(R"(name="a\" (b); filename=c)").filename == "c");
    CHECK(said(R"(name="a\"b\\")").name == R"(a"b\)"); // it has sense
    for (const char* const parameters :
         {R"(name="a\"b)", R"(name="a\"; name="b\")", R"(filename="a\")", R"(name="\)"})
        CHECK(status_of_parameters(parameters) == 400);
}

TEST_CASE("control characters in names are what RFC 822 has in quotes") {
    std::string controls;
    for (char c = 1; c < ' '; ++c) {
        if (c != '\r' && c != '\n')
            controls += c;
    }
    controls += '\x7f';
    const std::string quoted = "name=\"" + controls + "\"; filename=\"" + controls + "\"";
    CHECK(said(quoted).name == controls);
    CHECK(said(quoted).filename == controls);
    for (const std::string& parameters :
         {std::string("name=a\x01"), std::string("name=\"a\"\x01"), std::string("name=\"a\nb\""),
          std::string("name=\"a\rb\""), std::string("name=\"a\0b\"", 10)})
        CHECK(status_of_parameters(parameters) == 400);
}

TEST_CASE("a NUL in the name of a file is none that another program reads, escaped or not") {
    CHECK(status_of_parameters("name=a; filename=\"a%00.txt\"") == 400);
    CHECK(status_of_parameters(std::string("name=a; filename=\"a\0.txt\"", 25)) == 400);
    CHECK(said("name=\"a%00\"; filename=\"%ff%00\"").filename == "%ff%00"); // escapes nothing
    const std::string as_it_is = "Content-Disposition: form-data; name=a; filename=\"%00\"\r\n";
    CHECK(form_part::parse(as_it_is, false).filename == "%00");
}

TEST_CASE("parameters that are not of forms are skipped") {
    const form_part part = said("x=1; name=a; filename*=UTF-8''other.txt; y=\"z;\"");
    CHECK(part.name == "a");
    CHECK_FALSE(part.is_file());
    CHECK(said("name=a; filename=\"real.txt\"; filename*=UTF-8''other.txt").filename == "real.txt");
}

TEST_CASE("blanks and folded lines") {
    CHECK(said(" name = a ;\tfilename\t=\t\"b\" ; ").filename == "b");
    CHECK(form_part::parse("Content-Disposition: form-data;\r\n name=\"a\r\n b\";\r\n\tx=y\r\n")
              .name == "a b");
    CHECK(form_part::parse("Content-Disposition:form-data;name=a\r\n").name == "a");
}

TEST_CASE("tokens and names of fields are those of MIME") {
    CHECK(said("name=f{1}").name == "f{1}");
    CHECK(
        form_part::parse("X/Y(z): 1\r\n\"@[]{}?=: 2\r\nContent-Disposition: form-data; name=a\r\n")
            .name == "a");
}

TEST_CASE("comments stand where blanks may") {
    const form_part part =
        form_part::parse("Content-Disposition: (a) form-data(b); (c(d)\\)) name (=) = (\"\r\n"
                         " e) f(;);filename=\"(g) \\\"(\"(h)\r\n"
                         "Content-Type: (i)text/plain (\") ; charset=\"(k)\"(l)\r\n");
    CHECK(part.name == "f");
    CHECK(part.filename == "(g) \"(");
    CHECK(fields::trim(part.type).starts_with("text/plain "));
    const auto type = media_type::parse(part.type);
    REQUIRE(type);
    CHECK(type->essence() == "text/plain");
    CHECK(type->parameter("charset") == "(k)");
    const std::string deep(16, '(');
    CHECK(said("name=a " + deep + std::string(16, ')')).name == "a");
    CHECK(status_of_parameters("name=a (" + deep + std::string(17, ')')) == 400);
    for (const char* const parameters :
         {"name=a (", "name=a (b", "name=a (b\\)", "name=a (b))", "name=a )", "na(b)me=a",
          "name=a(b)c", "name=a (b) c", "(name=a)", "name=(a)"})
        CHECK(status_of_parameters(parameters) == 400);
    // It was no media type, and is none.
    const std::string good = "Content-Disposition: form-data; name=a\r\n";
    CHECK(form_part::parse(good + "Content-Type: a/b (c\r\n").type == "a/b (c");
    CHECK(form_part::parse(good + "Content-Type: (c)\r\n").type == "text/plain");
}

TEST_CASE("heads that are malformed") {
    CHECK(status_of("") == 400);
    CHECK(status_of("Content-Type: text/plain\r\n") == 400);
    CHECK(status_of("Content-Disposition: form-data\r\n") == 400);
    CHECK(status_of("Content-Disposition:\r\n") == 400);
    CHECK(status_of("Content-Disposition: attachment; name=a\r\n") == 400);
    CHECK(status_of("Content-Disposition: form-data; filename=a\r\n") == 400);
    const std::string good = "Content-Disposition: form-data; name=a\r\n";
    CHECK(status_of(good) == 0);
    CHECK(status_of(good + good) == 400);
    CHECK(status_of(good + "Content-Type: a/b\r\ncontent-type: a/b\r\n") == 400);
    CHECK(status_of(" x\r\n" + good) == 400);
    CHECK(status_of(good + "no colon\r\n") == 400);
    CHECK(status_of(good + "Name : x\r\n") == 400);
    CHECK(status_of(good + ": x\r\n") == 400);
    CHECK(status_of(good + "N\xc3\xa4me: x\r\n") == 400);
    CHECK(status_of(good + "X: a\x01\r\n") == 400);
    CHECK(status_of(good + std::string("X: a\0b\r\n", 8)) == 400);
}

TEST_CASE("dispositions that are malformed") {
    for (const char* const parameters :
         {"name", "name=", "name=\"a", "name=\"a\\", "name=a b", "name=\"a\"b", "=a", "name==a",
          "name=a; name=b", "name=a; filename=b; FILENAME=c", "name=a, filename=b", "name=a/b",
          "name=a; x", "name=\xc3\xa4"})
        CHECK(status_of_parameters(parameters) == 400);
}

} // namespace
} // namespace rota::http
