// Forms: multipart content against a model that sees everything at once, urlencoded content against
// the decoding of whole names and values; both the same for every cut.
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <rota/http/error.hpp>
#include <rota/http/form.hpp>
#include <rota/http/multipart.hpp>
#include <rota/http/percent.hpp>
#include <rota/http/urlencoded.hpp>

#include "target.hpp"

namespace {

using namespace rota::http;
using rota::fuzz::cut;
using rota::fuzz::require;
using rota::fuzz::require_equal;

constexpr std::array<std::string_view, 4> boundaries{"b", "bb", "--", "a-b"};

std::string_view name_of(const multipart_parser& at) { return at.head(); }
std::string_view name_of(const urlencoded_parser& at) { return at.name(); }

/// What came out: "[name|content]" for each part, and "." or "!" behind.
template <class Parser>
std::string run(Parser parser, const std::vector<std::string_view>& pieces) {
    std::string all;
    form_step step = form_step::more;
    const auto take = [&] {
        if (step == form_step::part)
            all.append("[").append(name_of(parser)).append("|");
        if (step == form_step::data) {
            require(!parser.data().empty(), "data is not empty");
            all.append(parser.data());
        }
        if (step == form_step::part_end)
            all.append("]");
        if (step == form_step::end)
            all.append(".");
        if (step == form_step::failed) {
            require(parser.failure().status >= 400, "a status to answer with");
            all.append("!");
        }
        return step != form_step::more && step != form_step::end && step != form_step::failed;
    };
    for (std::string_view input : pieces) {
        do {
            step = parser.next(input);
        } while (take());
        if (step != form_step::more)
            return all;
        require(input.empty(), "more is asked for when all is used");
    }
    do {
        step = parser.finish();
    } while (take());
    return all;
}

/// Where the line of a delimiter ends that begins behind `at`; nothing if it goes on. `last` says
/// which one it is.
std::optional<std::size_t> line_end(std::string_view text, std::size_t at, bool& last) {
    last = text.substr(at).starts_with("--");
    at = text.find_first_not_of(" \t", at + (last ? 2 : 0));
    if (at == std::string_view::npos)
        return last ? std::optional(text.size()) : std::nullopt;
    if (!text.substr(at).starts_with("\r\n"))
        return std::nullopt;
    return at + 2;
}

/// Where the head ends that begins at `at`: in front of the empty line.
std::optional<std::size_t> head_end(std::string_view text, std::size_t at) {
    for (;;) {
        const std::size_t end = text.find('\n', at);
        if (end == std::string_view::npos || text.find('\r', at) + 1 != end)
            return std::nullopt;
        if (end == at + 1)
            return at;
        at = end + 1;
    }
}

/// Nothing for what is malformed.
std::optional<std::string> model(std::string_view content, std::string_view boundary) {
    const std::string text = "\r\n" + std::string(content);
    const std::string delimiter = "\r\n--" + std::string(boundary);
    std::string all;
    std::size_t at = text.find(delimiter);
    if (at == std::string::npos)
        return std::nullopt;
    const bool preamble = at > 2;
    for (;;) {
        bool last = false;
        const auto line = line_end(text, at + delimiter.size(), last);
        if (!line || (last && preamble && all.empty()))
            return std::nullopt;
        if (last)
            return all + '.';
        const auto head = head_end(text, *line);
        if (!head)
            return std::nullopt;
        at = text.find(delimiter, *head); // the line end of the empty line may be its own
        if (at == std::string::npos)
            return std::nullopt;
        const std::size_t begin = *head + 2;
        all += '[' + text.substr(*line, *head - *line) + '|' +
               (at < begin ? "" : text.substr(begin, at - begin)) + ']';
    }
}

void check_multipart(std::string_view text, unsigned choice) {
    const std::string_view boundary = boundaries[choice % boundaries.size()];
    const auto fresh = [&] {
        return multipart_parser(boundary, {std::size_t(1) << 30, std::size_t(1) << 30});
    };
    const std::string whole = run(fresh(), {text});
    const auto expected = model(text, boundary);
    require(whole.ends_with('!') == !expected, "what is malformed", whole, text);
    if (expected)
        require_equal(whole, *expected, "the parts");
    for (const std::size_t longest : {1U, 3U, 17U})
        require_equal(run(fresh(), cut(text, choice, longest)), whole, "whatever the pieces");
    const multipart_parser::limits small{2, 40};
    const std::string least = run(multipart_parser(boundary, small), {text});
    require_equal(run(multipart_parser(boundary, small), cut(text, choice, 5)), least,
                  "whatever the pieces, with small limits");
}

void check_urlencoded(std::string_view text, unsigned choice) {
    std::string expected;
    for (std::string_view rest = text; !rest.empty();) {
        const std::string_view pair = rest.substr(0, rest.find('&'));
        rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
        if (pair.empty())
            continue;
        const std::size_t equals = std::min(pair.find('='), pair.size());
        expected += '[' + decode_form(pair.substr(0, equals)) + '|' +
                    decode_form(pair.substr(std::min(equals + 1, pair.size()))) + ']';
    }
    expected += '.';
    const urlencoded_parser::limits most{std::size_t(1) << 30, std::size_t(1) << 30};
    require_equal(run(urlencoded_parser(most), {text}), expected, "names and values");
    for (const std::size_t longest : {1U, 3U, 17U}) {
        require_equal(run(urlencoded_parser(most), cut(text, choice, longest)), expected,
                      "whatever the pieces");
    }
}

void check_head(std::string_view text) {
    try {
        const form_part part = form_part::parse(text);
        require(!part.type.empty(), "there is a type", text);
        const form_part plain = form_part::parse(text, false);
        require_equal(plain.name, part.name, "escapes matter for files only");
    } catch (const http_error& e) {
        require(e.status() == 400, "a bad head is a 400", text);
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const rota::fuzz::input in(data, size);
    switch (in.choice % 4) {
    case 0:
        check_urlencoded(in.text, in.choice);
        break;
    case 1:
        check_head(in.text);
        check_head("Content-Disposition: form-data; " + std::string(in.text) + "\r\n");
        break;
    default:
        check_multipart(in.text, in.choice / 4);
        break;
    }
    return 0;
}
