// Chunked content, against a small reader of its own that sees all of it at once (RFC 9112 section
// 7.1). It does not know extensions and trailers: of these only that cuts make no difference.
#include <algorithm>
#include <charconv>
#include <optional>

#include "io/http1/parser_driver.hpp"
#include "target.hpp"

namespace {

using rota::fuzz::cut;
using rota::http::parser_limits;
using rota::http::test::run;
using rota::http::test::transcript;

constexpr std::string_view head =
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";

enum class outcome { complete, incomplete, wrong, unknown };

struct content {
    outcome what = outcome::incomplete;
    std::string text{};
};

bool is_control(char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f; }

/// The line at the beginning of `bytes`, taken off; `what` says if there is none.
std::optional<std::string_view> take_line(std::string_view& bytes, std::size_t max, outcome& what) {
    const std::size_t lf = bytes.find('\n');
    const bool whole = lf != std::string_view::npos;
    std::string_view line = bytes.substr(0, lf);
    const bool cr = line.ends_with('\r');
    if (cr)
        line.remove_suffix(1);
    if (std::ranges::any_of(line, is_control) || line.size() > max || (whole && !cr)) {
        what = outcome::wrong;
        return std::nullopt;
    }
    if (!whole) {
        what = outcome::incomplete;
        return std::nullopt;
    }
    bytes.remove_prefix(lf + 1);
    return line;
}

content model(std::string_view bytes, const parser_limits& limits) {
    content c;
    for (;;) {
        const auto line = take_line(bytes, limits.chunk_line_bytes_max, c.what);
        if (!line)
            return c;
        if (line->find(';') != std::string_view::npos)
            return {outcome::unknown};
        std::uint64_t length = 0;
        const auto [end, error] =
            std::from_chars(line->data(), line->data() + line->size(), length, 16);
        const bool number = error == std::errc{} && end == line->data() + line->size();
        if (!number || length > limits.body_bytes_max - c.text.size()) {
            c.what = outcome::wrong;
            return c;
        }
        if (length == 0)
            break;
        const std::string_view data = bytes.substr(0, length);
        c.text += data;
        bytes.remove_prefix(data.size());
        if (data.size() < length)
            return c; // incomplete
        const auto behind = take_line(bytes, 0, c.what);
        if (!behind)
            return c;
    }
    if (!bytes.starts_with("\r\n"))
        return {outcome::unknown};
    c.what = outcome::complete;
    return c;
}

void check(const transcript& got, const content& want) {
    const std::size_t end_of_head = got.text.find('\n') + 1;
    const std::string rest = got.text.substr(end_of_head);
    switch (want.what) {
    case outcome::complete:
        rota::fuzz::require(rest.starts_with(want.text + "\nend\n"), "the content", rest,
                            want.text);
        break;
    case outcome::incomplete:
        rota::fuzz::require(got.status == 0, "nothing is wrong yet", got.reason);
        rota::fuzz::require_equal(rest, want.text, "the content so far");
        break;
    case outcome::wrong:
        rota::fuzz::require(got.status != 0, "it is wrong");
        rota::fuzz::require_equal(rest, want.text, "the content before");
        break;
    case outcome::unknown:
        break;
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const rota::fuzz::input in(data, size);
    parser_limits limits;
    if (in.choice % 2 != 0) {
        limits.chunk_line_bytes_max = 8;
        limits.body_bytes_max = 30;
        limits.trailer_bytes_max = 40;
    }
    const std::string request = std::string(head) + std::string(in.text);
    const transcript whole = run(std::string_view(request), limits);
    check(whole, model(in.text, limits));
    for (const std::size_t longest : {std::size_t{1}, std::size_t{9}}) {
        const transcript pieces = run(cut(request, in.choice, longest), limits);
        rota::fuzz::require_equal(pieces.text, whole.text, "the same in pieces");
        rota::fuzz::require(pieces.status == whole.status, "the same status in pieces");
    }
    return 0;
}
