#include <rota/http/form.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <fcntl.h>
#include <unistd.h>

#include <rota/http/error.hpp>
#include <rota/inline_scheduler.hpp>

#include "request_parser.hpp"

namespace rota::http {
namespace {

/// Content that comes in two pieces, or in bytes.
class cut_content final : public body_reader {
public:
    cut_content(std::string text, std::size_t at, memory_budget* memory = nullptr)
        : body_reader(memory), text_(std::move(text)), at_(at) {}
    task<std::string_view> read() override {
        const std::size_t end = at_ == 0 ? read_ + 1 : read_ < at_ ? at_ : text_.size();
        current_ = text_.substr(read_, end - read_); // what was there before is gone
        read_ = std::min(end, text_.size());
        co_return std::string_view(current_);
    }
    [[nodiscard]] std::optional<std::uint64_t> length() const noexcept override {
        return text_.size();
    }
    void limit(std::uint64_t bytes) override {
        if (text_.size() > bytes)
            throw http_error(413, "content too large");
    }
    [[nodiscard]] header_list trailers() const noexcept override { return {nullptr, none_}; }
    [[nodiscard]] bool ended() const noexcept { return read_ == text_.size(); }

private:
    std::string text_;
    std::size_t at_; // 0: after each byte
    std::size_t read_ = 0;
    std::string current_;
    std::vector<field_span> none_;
};

/// A request with this Content-Type, or without.
struct posted {
    posted(const std::string& type, std::string content, std::size_t cut = std::string::npos,
           memory_budget* memory = nullptr)
        : bytes("POST / HTTP/1.1\r\nHost: a\r\n" +
                (type.empty() ? "" : "Content-Type: " + type + "\r\n") + "\r\n"),
          body(std::move(content), cut, memory) {
        REQUIRE(parser.feed(bytes).event == parse_event::head);
    }
    const parser_limits limits;
    std::string bytes;
    request_parser parser{limits};
    cut_content body;
    request req{parser.head(), &body};
    inline_scheduler scheduler;
};

constexpr const char* urlencoded = "application/x-www-form-urlencoded";
constexpr const char* multipart = "multipart/form-data; boundary=b";

/// "name=value|" for each field, "name=filename:type:content|" for each file; or the status.
std::string read(const std::string& type, const std::string& content, form_limits most = {},
                 std::size_t cut = std::string::npos) {
    posted p(type, content, cut);
    try {
        const form all = p.scheduler.run_task(p.req.form(most));
        std::string text;
        for (const form::field& each : all.fields)
            text += each.name + '=' + each.value + '|';
        for (const form::file& each : all.files) {
            text += each.name + '=' + each.filename + ':' + each.type + ':' + each.content + '|';
        }
        CHECK(p.body.ended());
        return text;
    } catch (const http_error& e) {
        return std::to_string(e.status());
    }
}

std::string read_cut(const std::string& type, const std::string& content, form_limits most = {}) {
    const std::string whole = read(type, content, most);
    for (std::size_t at = 0; at < content.size(); ++at)
        CHECK(read(type, content, most, at) == whole);
    return whole;
}

std::string part(const std::string& parameters, const std::string& content,
                 const std::string& more = "") {
    return "--b\r\nContent-Disposition: form-data; " + parameters + "\r\n" + more + "\r\n" +
           content + "\r\n";
}

TEST_CASE("urlencoded forms, in any pieces") {
    CHECK(read_cut(urlencoded, "a=1&b=x+y%26&a=2&c") == "a=1|b=x y&|a=2|c=|");
    CHECK(read_cut(urlencoded, "").empty());
    CHECK(read("APPLICATION/X-WWW-Form-URLencoded ; charset=\"UTF-8\"", "a=1") == "a=1|");
}

TEST_CASE("multipart forms, in any pieces") {
    CHECK(read_cut(multipart, "preamble\r\n" + part("name=a", "1") +
                                  part("name=f; filename=x", "one\r\n--\r\ntwo",
                                       "Content-Type: image/png\r\n") +
                                  part("name=a", "") + "--b--\r\nepilogue") ==
          "a=1|a=|f=x:image/png:one\r\n--\r\ntwo|");
    CHECK(read_cut(multipart, "--b--\r\n").empty());
    CHECK(read("Multipart/Form-Data; x=y; BOUNDARY=\"b\"", "--b--").empty());
}

TEST_CASE("content of other types is a 415") {
    for (const char* const type :
         {"", "text/plain", "application/json", "multipart/mixed; boundary=b", "form",
          "multipart/form-datax", "/"})
        CHECK(read(type, "a=1") == "415");
}

TEST_CASE("two types of content are a 400") {
    CHECK(read("text/plain\r\nContent-Type: " + std::string(urlencoded), "a=1") == "400");
    CHECK(read(std::string(urlencoded) + "\r\ncontent-type: text/plain", "a=1") == "400");
}

TEST_CASE("a boundary that is missing or none is a 400") {
    for (const char* const type :
         {"multipart/form-data", "multipart/form-data;", "multipart/form-data; boundary",
          "multipart/form-data; boundary=", "multipart/form-data; boundary=\"\"",
          "multipart/form-data; boundary=\"b \"", "multipart/form-data; boundary=b; boundary=b",
          "multipart/form-data; boundary=\"b\\;\"", "multipart/form-data; boundary=a b",
          "multipart/form-data; charset=b", "application/x-www-form-urlencoded; x"})
        CHECK(read(type, "--b--") == "400");
}

TEST_CASE("malformed content is a 400") {
    CHECK(read_cut(multipart, "") == "400");
    CHECK(read_cut(multipart, part("name=a", "1")) == "400");
    CHECK(read_cut(multipart, part("x=a", "1") + "--b--") == "400");
    CHECK(read_cut(multipart, "--b\r\n\r\nx\r\n--b--") == "400");
    CHECK(read_cut(multipart, "--c\r\n\r\nx\r\n--c--") == "400");
}

TEST_CASE("forms as long as is allowed") {
    const std::string two = part("name=a", "12") + part("name=b", "34") + "--b--";
    CHECK(read_cut(multipart, two, {.parts_max = 2}) == "a=12|b=34|");
    CHECK(read_cut(multipart, two, {.parts_max = 1}) == "413");
    CHECK(read_cut(multipart, two, {.value_bytes_max = 2}) == "a=12|b=34|");
    CHECK(read_cut(multipart, two, {.value_bytes_max = 1}) == "413");
    CHECK(read_cut(multipart, two, {.head_bytes_max = 40}) == "a=12|b=34|");
    CHECK(read_cut(multipart, two, {.head_bytes_max = 39}) == "413");
    CHECK(read_cut(multipart, two, {.kept_bytes_max = 26}) == "a=12|b=34|"); // with "text/plain"
    CHECK(read_cut(multipart, two, {.kept_bytes_max = 25}) == "413");
    CHECK(read(multipart, two, {.content_bytes_max = two.size()}) == "a=12|b=34|");
    CHECK(read(multipart, two, {.content_bytes_max = two.size() - 1}) == "413");
    CHECK(read_cut(urlencoded, "a=12&b=34", {.parts_max = 2}) == "a=12|b=34|");
    CHECK(read_cut(urlencoded, "a=12&b=34", {.parts_max = 1}) == "413");
    CHECK(read_cut(urlencoded, "a=12&b=3%34", {.value_bytes_max = 2}) == "a=12|b=34|");
    CHECK(read_cut(urlencoded, "a=12&b=345", {.value_bytes_max = 2}) == "413");
    CHECK(read_cut(urlencoded, "abc=1", {.head_bytes_max = 2}) == "413");
    const std::string file = part("name=f; filename=x", "12345") + "--b--";
    CHECK(read(multipart, file, {.value_bytes_max = 1}) == "f=x:text/plain:12345|");
    CHECK(read(multipart, file, {.kept_bytes_max = 16}) == "413");
}

TEST_CASE("fields of another charset become UTF-8") {
    CHECK(
        read(multipart, part("name=a", "\xe4", "Content-Type: text/plain; charset=ISO-8859-1\r\n") +
                            part("name=b", "\xe4") + "--b--") == "a=\xc3\xa4|b=\xe4|");
    const std::string named = part("name=a", "\xe4") + part("name=_charset_", "iso-8859-1") +
                              part("name=b", "\xc3\xa4", "Content-Type: a/b; charset=utf-8\r\n") +
                              part("name=f; filename=x", "\xe4") + "--b--";
    CHECK(read(multipart, named) ==
          "a=\xc3\xa4|_charset_=iso-8859-1|b=\xc3\xa4|f=x:text/plain:\xe4|");
    CHECK(read(urlencoded, "_charset_=iso-8859-1&a=%e4") == "_charset_=iso-8859-1|a=\xe4|");
}

TEST_CASE("a form is asked for its fields") {
    posted p(urlencoded, "n=12&a=1&a=2&t=x");
    const form all = p.scheduler.run_task(p.req.form());
    CHECK(*all.find("a") == "1");
    CHECK(all.find("b") == nullptr);
    CHECK(all.find_file("a") == nullptr);
    CHECK(all.value<int>("n") == 12);
    CHECK_FALSE(all.value<int>("m"));
    CHECK(all.required<std::string>("t") == "x");
    CHECK_THROWS_AS(all.value<int>("t"), http_error);
    CHECK_THROWS_AS(all.required<int>("m"), http_error);
    posted with_file(multipart, part("name=f; filename=x", "1") + "--b--");
    const form file = with_file.scheduler.run_task(with_file.req.form());
    CHECK(file.find_file("f")->content == "1");
}

TEST_CASE("files may go to a handler, which may leave some of them") {
    posted p(multipart, part("name=f; filename=x", "first") + part("name=g; filename=y", "second") +
                            part("name=a", "1") + "--b--");
    std::string seen;
    const form::file_taker take = [&seen](const form_part& of, form_reader& parts) -> task<void> {
        struct awaited {
            static task<void> run(std::string name, form_reader* from, std::string* into) {
                if (name == "f")
                    co_return;
                const std::string content = co_await from->text(100);
                *into += name + '=' + content;
            }
        };
        return awaited::run(of.name, &parts, &seen);
    };
    const form all = p.scheduler.run_task(p.req.form(form_limits(), take));
    CHECK(seen == "g=second");
    CHECK(all.files.empty());
    CHECK(*all.find("a") == "1");
}

TEST_CASE("parts are skipped, read and saved one by one") {
    const std::string long_text(700'000, 'x');
    posted p(multipart,
             part("name=a", "skipped") + part("name=f; filename=x", long_text) +
                 part("name=g; filename=y", "") + part("name=c", "last") + "--b--",
             100'000);
    form_reader parts(p.req);
    CHECK(parts.is_multipart());
    CHECK(p.scheduler.run_task(parts.read()).empty()); // before the first
    CHECK(p.scheduler.run_task(parts.next())->name == "a");
    CHECK(p.scheduler.run_task(parts.next())->name == "f");
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
    const int fd = ::fileno(file.get());
    CHECK(p.scheduler.run_task(parts.save(fd)) == long_text.size());
    std::string kept(long_text.size() + 1, '\0');
    CHECK(::pread(fd, kept.data(), kept.size(), 0) == static_cast<ssize_t>(long_text.size()));
    CHECK(kept.starts_with(long_text));
    CHECK(p.scheduler.run_task(parts.next())->name == "g");
    CHECK(p.scheduler.run_task(parts.save(-1)) == 0); // nothing to write
    CHECK(p.scheduler.run_task(parts.next())->name == "c");
    CHECK(p.scheduler.run_task(parts.text()) == "last");
    CHECK(p.scheduler.run_task(parts.text()).empty());
    CHECK_FALSE(p.scheduler.run_task(parts.next()));
    CHECK_FALSE(p.scheduler.run_task(parts.next()));
    CHECK(p.scheduler.run_task(parts.read()).empty());
}

TEST_CASE("a file that cannot be written is an error") {
    posted p(multipart, part("name=f; filename=x", "content") + "--b--");
    form_reader parts(p.req);
    REQUIRE(p.scheduler.run_task(parts.next()));
    const int full = ::open("/dev/full", O_WRONLY);
    REQUIRE(full >= 0);
    CHECK_THROWS_AS(p.scheduler.run_task(parts.save(full)), std::system_error);
    ::close(full);
}

task<form> by_parts(request* from) {
    form all;
    form_reader parts(*from);
    for (;;) {
        const std::optional<form_part> part = co_await parts.next();
        if (!part)
            break;
        std::string value = co_await parts.text();
        form::field& added = all.fields.emplace_back();
        added.name = part->name;
        added.value = std::move(value);
    }
    co_return all;
}

TEST_CASE("what is kept of forms is taken from the memory for content") {
    memory_budget all(0);
    const std::string half(memory_budget::step / 2 - 16, 'x');
    const std::string less = "a=" + half + "&b=" + half;
    posted fits(urlencoded, less, std::string::npos, &all);
    CHECK(fits.scheduler.run_task(fits.req.form()).fields.size() == 2);
    for (const bool whole : {true, false}) {
        posted more(urlencoded, less + "&c=" + half, std::string::npos, &all);
        int status = 0;
        try {
            (void)more.scheduler.run_task(whole ? more.req.form() : by_parts(&more.req));
        } catch (const http_error& e) {
            status = e.status();
        }
        CHECK(status == 503);
    }
}

} // namespace
} // namespace rota::http
